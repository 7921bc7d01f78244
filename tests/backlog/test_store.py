"""The backlog on a real state ref: one record a file, many processes at once, hand edits, and broken records."""

import json
import re
from pathlib import Path

import pytest

from gitnexus.backlog import Backlog, StateBacklog
from gitnexus.backlog.add import add_task
from gitnexus.backlog.claimant import agent_claimant
from gitnexus.backlog.close import complete_task
from gitnexus.backlog.delete import delete_task
from gitnexus.backlog.fields import TaskFields
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.projects.open_backlog import open_backlog
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from gitnexus.state.intake import settle_hand_edits
from tests.conftest import Nexus, run_git
from tests.forked import ForkedPython

REF = "refs/nexus/state"
# Each process opens the project as a command does and tells what it got.
ADDER = """
import sys
from pathlib import Path
from gitnexus.projects.open_backlog import open_backlog
from gitnexus.backlog.add import add_task
from gitnexus.backlog.fields import TaskFields
opened = open_backlog(Path(sys.argv[1]))
for n in range(25):
    print(add_task(opened.backlog, TaskFields(title=f"{sys.argv[2]} {n}")).id, flush=True)
"""
CLAIMER = """
import os, sys, time
from pathlib import Path
from gitnexus.projects.open_backlog import open_backlog
from gitnexus.backlog.claim import claim_task, parse_claim_duration
from gitnexus.base.errors import Busy
opened = open_backlog(Path(sys.argv[1]))
print("there", flush=True)
sys.stdin.readline()
try:
    print(claim_task(opened.backlog, "T1", parse_claim_duration("1h")).claim.token, flush=True)
except Busy as exc:
    print(exc.message, flush=True)
"""


def backlog(place: Path) -> StateBacklog:
    return StateBacklog(open_state(place), lambda: agent_claimant("ada"))


def file(place: Path, one: str) -> Path:
    return place / ".nexus" / "backlog" / f"{one}.json"


def titled(where: Backlog, *titles: str) -> None:
    for title in titles:
        add_task(where, TaskFields(title=title))


def test_a_task_is_one_canonical_record_one_commit_and_one_file(project: Path) -> None:
    made = add_task(backlog(project), TaskFields(title="Größe prüfen", labels=("a",)))

    raw = run_git(project, "show", f"{REF}:backlog/T1.json")
    assert raw.encode() == made.to_bytes()
    assert raw == file(project, "T1").read_text()
    assert run_git(project, "log", "-1", "--format=%s", REF) == "backlog: add T1 Größe prüfen\n"
    assert run_git(project, "ls-tree", "-r", "--name-only", REF, "backlog").splitlines() == ["backlog/T1.json"]
    assert len(json.loads(raw)["uid"]) == 16


def test_ids_are_not_given_again_after_a_task_was_deleted_in_any_way(project: Path) -> None:
    here = backlog(project)
    titled(here, "one", "two", "three")

    delete_task(here, "T3")
    titled(here, "four")
    settle_hand_edits(here.state)
    file(project, "T4").unlink()
    settled = settle_hand_edits(here.state)
    titled(here, "five")

    assert settled.taken == ["backlog/T4.json"]
    assert [task.id for task in here.tasks()] == ["T1", "T2", "T5"]
    assert json.loads(file(project, "T4").read_text())["tombstone"] is True
    with pytest.raises(NotFound, match="T4 was deleted"):
        here.tasks().task("T4")


def test_the_tombstone_itself_cannot_be_deleted(project: Path) -> None:
    here = backlog(project)
    titled(here, "one")
    delete_task(here, "T1")
    before = run_git(project, "rev-parse", REF)

    file(project, "T1").unlink()
    settle_hand_edits(here.state)

    assert run_git(project, "rev-parse", REF) == before
    assert file(project, "T1").exists()


@pytest.mark.slow
def test_sixteen_processes_with_twenty_five_tasks_each_make_four_hundred(project: Path) -> None:
    started = [ForkedPython(ADDER, str(project), f"p{n}") for n in range(16)]
    told = [line for process in started for line in process.communicate()[0].split()]

    assert sorted(told, key=lambda one: int(one[1:])) == [f"T{n}" for n in range(1, 401)]
    found = [task.title for task in backlog(project).tasks()]
    assert sorted(found) == sorted(f"p{n} {m}" for n in range(16) for m in range(25))


@pytest.mark.parametrize("processes", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_of_many_processes_that_claim_a_task_exactly_one_gets_it(project: Path, processes: int) -> None:
    here = backlog(project)
    titled(here, "one")
    started = [ForkedPython(CLAIMER, str(project)) for _ in range(processes)]
    for process in started:
        assert process.stdout.readline() == "there\n"

    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate()[0].strip() for process in started]

    kept = here.tasks().task("T1").claim
    assert kept is not None
    assert sorted(told) == sorted([kept.token, *[f"T1 is claimed by Test Person until {kept.until}"] * (processes - 1)])


def test_a_hand_edit_that_is_a_task_is_taken_in(project: Path) -> None:
    here = backlog(project)
    titled(here, "one")
    file(project, "T1").write_text('{"id": "T1", "title": "by hand", "mine": [1.5]}\n')
    file(project, "T7").write_text('{"id": "T7", "title": "new by hand"}\n')

    opened = open_backlog(project)

    assert opened.nexus is not None
    assert sorted(opened.nexus.settled.taken) == ["backlog/T1.json", "backlog/T7.json"]
    assert [task.title for task in opened.backlog.tasks()] == ["by hand", "new by hand"]
    assert complete_task(opened.backlog, "T1").plain()["mine"] == [1.5]
    assert opened.backlog.tasks().next_id() == "T8"
    opened.close()


def test_a_hand_edit_counts_like_any_change_and_means_the_same_task(project: Path) -> None:
    here = backlog(project)
    titled(here, "one")
    before = json.loads(file(project, "T1").read_text())
    file(project, "T1").write_text('{"id": "T1", "title": "by hand", "priority": "high"}\n')

    open_backlog(project).close()

    found = json.loads(file(project, "T1").read_text())
    assert (found["uid"], found["rev"], found["title"]) == (before["uid"], before["rev"] + 1, "by hand")
    assert {found["stamps"]["title"], found["stamps"]["priority"]} == {2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": "T2", "title": "x"}', "backlog/T1.json: id should be T1, the name of the file"),
        ('{"id": "T1"}', "backlog/T1.json: title should be text"),
        ("[]", "backlog/T1.json should be an object"),
        ('{"id": "T1", "title": "x"', "not valid JSON"),
    ],
)
def test_a_hand_edit_that_is_no_task_is_held_and_reported(project: Path, nexus: Nexus, text: str, words: str) -> None:
    titled(backlog(project), "one")
    file(project, "T1").write_text(text)

    done = nexus("task", "list")

    assert done.returncode == 0
    assert words in done.stderr
    assert "one" in done.stdout
    assert file(project, "T1").read_text() == text


def test_a_broken_record_on_the_ref_stops_nobody_but_who_asks_for_it(project: Path) -> None:
    here = backlog(project)
    titled(here, "one", "two")
    here.state.write({"backlog/T2.json": b'{"id": "T2"}\n', "backlog/notes.txt": b"x"}, why="by a stranger")

    tasks = here.tasks()

    assert [task.id for task in tasks] == ["T1"]
    assert tasks.broken == {"T2": "backlog/T2.json: title should be text"}
    with pytest.raises(Invalid, match="title should be text"):
        tasks.task("T2")
    assert add_task(here, TaskFields(title="three")).id == "T3"


def test_the_doctor_names_broken_records_and_cycles(project: Path, nexus: Nexus) -> None:
    here = backlog(project)
    titled(here, "one")
    assert re.search(r"^ok  backlog +1 task$", nexus.ok("doctor"), re.MULTILINE)
    here.state.write(
        {
            "backlog/T1.json": b'{"id": "T1", "title": "one", "depends": ["T2"]}\n',
            "backlog/T2.json": b'{"id": "T2", "title": "two", "depends": ["T1"]}\n',
            "backlog/T3.json": b"[]\n",
        },
        why="by a stranger",
    )

    shown = nexus.ok("doctor")

    assert "backlog/T3.json should be an object" in shown
    assert "tasks wait for each other: T1 → T2 → T1" in shown
    assert "T1 → T2 → T1 wait for each other" in nexus.ok("task", "next")


def test_a_refused_decision_changes_nothing(project: Path) -> None:
    here = backlog(project)
    before = run_git(project, "rev-parse", REF)

    with pytest.raises(NotFound):
        add_task(here, TaskFields(title="x", depends=("T9",)))

    assert run_git(project, "rev-parse", REF) == before


def test_the_first_task_of_an_agent_makes_the_state_where_nobody_ran_init(repository: Path) -> None:
    here = StateBacklog(State.open(repository, "long"), lambda: agent_claimant("ada"))

    assert list(here.tasks()) == []
    add_task(here, TaskFields(title="first"))

    assert [task.title for task in here.tasks()] == ["first"]
    assert file(repository, "T1").exists()
    assert run_git(repository, "status", "--porcelain") == ""


def test_another_worktree_shows_the_same_tasks(project: Path, tmp_path: Path) -> None:
    run_git(project, "worktree", "add", "-q", str(tmp_path / "other"))
    titled(backlog(project), "one")

    opened = open_backlog(tmp_path / "other")

    assert [task.title for task in opened.backlog.tasks()] == ["one"]
    assert file(tmp_path / "other", "T1").exists()
    opened.close()
