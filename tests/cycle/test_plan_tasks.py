"""`plan_tasks` on real repositories: one write, nothing twice, nothing half."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import NexusError
from gitnexus.base.tool import input_schema_of
from gitnexus.cycle import Session, call
from gitnexus.cycle.table import TOOLS
from gitnexus.state import State
from tests.conftest import Nexus, run_git
from tests.forked import ForkedPython

PLAN = {"topic": "Sign in", "issues": ["Which way in?", "Sessions"], "research_summary": "Rivals use OAuth."}
DRAFT = {"title": "Write it", "context": "All of it."}


@pytest.fixture
def session(repository: Path) -> Session:
    return Session(State.open(repository), harness="test")


@pytest.fixture
def planned(session: Session) -> Session:
    """A session whose plan is decided."""
    call(session, "plan_start", PLAN)
    call(session, "plan_decide", {"issue_id": 1, "decision": "OAuth.\nFiles: auth.py\nAcceptance: /login redirects"})
    call(session, "plan_decide", {"issue_id": 2, "decision": "In the database."})
    return session


def kept(session: Session) -> Any:
    path = session.folder / "state" / "tasks.json"
    return json.loads(path.read_text()) if path.exists() else None


def make(session: Session, *drafts: dict[str, Any], **params: Any) -> dict[str, Any]:
    return call(session, "plan_tasks", {**({"drafts": list(drafts)} if drafts else {}), **params})


def brief(found: dict[str, Any]) -> list[tuple[int, str | None, str, list[int]]]:
    return [(task["id"], task.get("owner"), task["title"], task["deps"]) for task in found["added"]]


def test_every_decision_becomes_a_task_with_what_was_found_out(planned: Session) -> None:
    found = make(planned)

    assert brief(found) == [
        (1, "engineer", "Which way in? OAuth.", []),
        (2, "tester", "Check: Which way in? OAuth.", [1]),
        (3, "engineer", "Sessions: In the database.", []),
    ]
    assert found["added"][2]["context"] == (
        "Decided in the plan “Sign in”, issue 2. Sessions: In the database.\n\n"
        "What was found out before: Rivals use OAuth."
    )
    assert found["added"][0]["acceptance"] == "/login redirects"
    assert [task["plan_issue"] for task in found["added"]] == [1, 1, 2]
    assert found["paired"] == [{"task": 1, "by": 2, "why": "it must be seen running (“/login redirects”)"}]
    assert (found["merged"], found["exceptions"], found["skipped"]) == ([], [], [])
    file = kept(planned)
    assert file["tasks"] == found["added"]
    assert (file["goal"], len(file["decisions"])) == ("Sign in", 2)
    assert file["decisions"][1] == "Sessions: In the database."


@pytest.mark.parametrize(
    ("decide", "owner"),
    [
        ({"decision": "x"}, "engineer"),
        ({"decision": "x", "how_agents": ["architect", "writer"]}, "writer"),
        ({"decision": "x", "how_agents": ["architect"]}, "engineer"),
        ({"decision": "x\nOwner: researcher", "how_agents": ["writer"]}, "researcher"),
        ({"decision": "x\nOwner: the whole team"}, "engineer"),
        ({"decision": "x\nFiles: `docs/a.md`, b.md"}, "writer"),
        ({"decision": "x\nowner: Engineer.\nfile: docs/a.md"}, "engineer"),
    ],
)
def test_who_does_it_follows_from_the_decision(session: Session, decide: dict[str, Any], owner: str) -> None:
    call(session, "plan_start", {**PLAN, "issues": ["Q"]})
    call(session, "plan_decide", {"issue_id": 1, **decide})

    assert make(session)["added"][0]["owner"] == owner


def test_what_agents_said_is_in_the_context_and_a_long_decision_not_in_the_title(session: Session) -> None:
    call(session, "plan_start", {**PLAN, "issues": ["Q"], "research_summary": ""})
    said = {"how_agents": ["architect"], "how_summary": {"architect": "Keep it small."}}
    call(session, "plan_decide", {"issue_id": 1, "decision": "long " * 60, **said})

    (task,) = make(session)["added"]

    assert (len(task["title"]), task["title"][-1]) == (100, "…")
    assert task["context"].endswith("\n\narchitect said: Keep it small.")
    assert "long " * 59 in task["context"]


def test_a_preview_tells_the_same_and_writes_nothing(planned: Session) -> None:
    told = make(planned, preview=True)

    assert kept(planned) is None
    done = make(planned)
    stamps = [task.pop("created_at") for task in (*told["added"], *done["added"])]
    assert len(stamps) == 6
    assert told == {**done, "preview": True}


def test_twice_adds_nothing_and_says_what_is_there(planned: Session) -> None:
    make(planned)
    before = kept(planned)

    again = make(planned)

    assert again["added"] == []
    assert again["skipped"] == [{"issue": 1, "tasks": [1]}, {"issue": 2, "tasks": [3]}]
    assert kept(planned) == before


def test_an_issue_whose_task_was_merged_into_anothers_is_not_made_again(planned: Session) -> None:
    call(planned, "plan_decide", {"issue_id": 2, "decision": "In the database.\nFiles: ./auth.py"})
    found = make(planned)

    assert brief(found)[0] == (1, "engineer", "Which way in? OAuth.; Sessions: In the database.", [])
    assert found["merged"] == [{"task": 1, "of": [1, 2], "why": "several would change auth.py"}]
    assert found["exceptions"] == [{"task": 1, "id": "same_file_bundle"}]
    assert make(planned)["skipped"] == [{"issue": 1, "tasks": [1]}, {"issue": 2, "tasks": [1]}]


def test_only_the_new_decision_becomes_a_task_and_a_decision_is_noted_once(planned: Session) -> None:
    call(planned, "plan_update", {"action": "add", "title": "Old accounts"})
    make(planned, partial=True)
    call(planned, "plan_decide", {"issue_id": 3, "decision": "Linked."})

    assert brief(make(planned)) == [(4, "engineer", "Old accounts: Linked.", [])]
    assert [line.partition("\n")[0] for line in kept(planned)["decisions"]] == [
        "Which way in? OAuth.",
        "Sessions: In the database.",
        "Old accounts: Linked.",
    ]


def test_tasks_of_a_plan_that_was_replaced_do_not_count_for_the_new_one(repository: Path) -> None:
    days = iter(range(1, 29))
    session = Session(State.open(repository), clock=lambda: datetime(2026, 2, next(days), tzinfo=UTC))
    for topic in ("Old", "New"):
        call(session, "plan_start", {**PLAN, "topic": topic, "issues": ["Q"]})
        call(session, "plan_decide", {"issue_id": 1, "decision": topic})
        assert [task["title"] for task in make(session)["added"]] == [f"Q: {topic}"]

    assert kept(session)["goal"] == "New"
    assert [task["plan_issue"] for task in kept(session)["tasks"]] == [1, 1]


def test_drafts_need_no_plan(session: Session) -> None:
    found = make(session, DRAFT, {**DRAFT, "title": "Then this", "deps": ["1"], "owner": "writer"})

    assert brief(found) == [(1, None, "Write it", []), (2, "writer", "Then this", [1])]
    assert kept(session)["goal"] == "Write it"


def test_a_draft_of_an_issue_that_has_tasks_is_left_out_and_who_waited_for_it_waits_for_them(planned: Session) -> None:
    make(planned, {**DRAFT, "plan_issue": 1})
    base, again = {**DRAFT, "title": "Base"}, {**DRAFT, "title": "Again", "plan_issue": 1, "deps": [1]}

    found = make(planned, base, again, {**DRAFT, "title": "On top", "deps": [2], "plan_issue": 2})

    assert brief(found) == [(2, None, "Base", []), (3, None, "On top", [1, 2])]
    assert found["skipped"] == [{"issue": 1, "tasks": [1]}]


def test_a_task_waits_for_an_open_one_that_changes_the_same_file(session: Session) -> None:
    make(session, {**DRAFT, "files": ["a.py"]}, {**DRAFT, "files": ["b.py"]})
    call(session, "task_update", {"id": 2, "status": "completed"})

    found = make(session, {**DRAFT, "files": ["a.py", "b.py"]}, {**DRAFT, "after": [2]})

    assert [task["deps"] for task in found["added"]] == [[1], [2]]
    assert "It waits for task 1, which is open and changes a.py too." in found["added"][0]["context"]


@pytest.mark.parametrize(
    ("params", "words", "code"),
    [
        ({"drafts": []}, "drafts should not be empty; without drafts there is one for each decided issue", 6),
        ({"drafts": [{"title": "t"}]}, "drafts, number 1: context is missing", 6),
        ({"drafts": [DRAFT, {**DRAFT, "zap": 1}]}, "drafts, number 2: there is no field 'zap'", 6),
        ({"drafts": [{**DRAFT, "deps": "1"}]}, "drafts, number 1: deps should be a list of whole numbers", 6),
        ({"drafts": [{**DRAFT, "kind": "magic"}]},
         "drafts, number 1: kind should be one of behavior, refactor, types", 6),
        ({"drafts": ["x"]}, "drafts should be a list of objects", 6),
        ({"drafts": DRAFT}, "drafts should be a list of objects", 6),
        ({"drafts": [{**DRAFT, "deps": [7]}]}, "draft 1: deps names drafts that do not exist: 7", 6),
        ({"drafts": [{**DRAFT, "after": [7]}]}, "draft 1: after names tasks that do not exist: 7", 6),
        ({"drafts": [{**DRAFT, "plan_issue": 9}]}, "draft 1: Issue 9 not found", 4),
        ({"drafts": [{**DRAFT, "plan_issue": 3}], "partial": True}, "draft 1: issue 3 is not decided", 23),
        ({"drafts": [DRAFT]}, "issues are not decided: 3; with partial the others become tasks", 23),
        ({}, "issues are not decided: 3; with partial the others become tasks", 23),
        ({"preview": "yes"}, "preview should be true or false", 6),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(
    planned: Session, params: dict[str, Any], words: str, code: int
) -> None:
    call(planned, "plan_update", {"action": "add", "title": "Open"})
    plan = (planned.folder / "state" / "plan.json").read_bytes()

    with pytest.raises(NexusError) as refused:
        call(planned, "plan_tasks", params)

    assert (refused.value.message, refused.value.code) == (words, code)
    assert kept(planned) is None
    assert (planned.folder / "state" / "plan.json").read_bytes() == plan


def test_without_a_plan_there_is_nothing_to_turn_into_tasks(session: Session) -> None:
    for params, words in (
        ({}, "No active plan session, and no drafts"),
        ({"drafts": [{**DRAFT, "plan_issue": 1}]}, "draft 1 names issue 1: No active plan session"),
    ):
        with pytest.raises(NexusError) as refused:
            call(session, "plan_tasks", params)
        assert (refused.value.message, refused.value.code) == (words, 4)


def test_a_file_that_leads_out_of_the_repository_is_refused_by_its_issue(session: Session) -> None:
    call(session, "plan_start", {**PLAN, "issues": ["Q"]})
    call(session, "plan_decide", {"issue_id": 1, "decision": "x\nFiles: ../other"})

    with pytest.raises(NexusError, match=r"^issue 1: the file '../other' is refused: it leads out of the repository$"):
        make(session)


MAKER = """
import sys
from pathlib import Path
from gitnexus.base.tool import input_schema_of
from gitnexus.cycle import Session, call
from gitnexus.state import State
print(len(call(Session(State.open(Path(sys.argv[1]))), "plan_tasks", {})["added"]))
"""


def test_six_processes_at_once_make_the_tasks_once(planned: Session, repository: Path) -> None:
    started = [ForkedPython(MAKER, str(repository)) for _ in range(6)]

    told = sorted(int(process.communicate()[0]) for process in started)

    assert told == [0, 0, 0, 0, 0, 3]
    assert [task["id"] for task in kept(planned)["tasks"]] == [1, 2, 3]


def test_a_client_is_told_what_a_draft_may_hold() -> None:
    schema = input_schema_of(TOOLS["plan_tasks"])["properties"]["drafts"]

    assert (schema["type"], schema["items"]["type"], schema["items"]["additionalProperties"]) == (
        "array", "object", False,
    )  # fmt: skip
    assert schema["items"]["required"] == ["title", "context"]
    assert schema["items"]["properties"]["verify"]["enum"] == ["tester", "reviewer", "none"]
    assert schema["items"]["properties"]["deps"]["items"] == {"type": ["integer", "string"]}


def test_people_see_the_tasks_and_why_they_are_so(nexus: Nexus) -> None:
    nexus.ok("plan", "start", "Storage", "Which engine?")
    assert nexus.ok("plan", "decide", "1", "SQLite\x1b[2J").endswith("Next: git nexus plan tasks\n")
    drafts = [
        {**DRAFT, "title": "Build\x1b[2J", "owner": "engineer", "files": ["a.py"], "acceptance": "It exits 0\x1b[2J"},
        {**DRAFT, "title": "Mend", "files": ["a.py"], "plan_issue": 1},
        {**DRAFT, "title": "Tell", "files": ["a.md"], "deps": [1]},
    ]
    listed = (
        "  1  engineer  Build\\x1b[2J; Mend\n"
        "               → drafts 1, 2 in one (same_file_bundle): several would change a.py\n"
        "  2  tester    Check: Build\\x1b[2J; Mend (after 1)\n"
        "               → it must be seen running (“It exits 0\\x1b[2J”)\n"
        "  3  writer    Tell (after 1)\n"
        "               → docs_only.independent\n"
        "  4  reviewer  Check: Tell (after 3)\n"
        "               → it is documentation by a writer\n"
    )

    seen = nexus("plan", "tasks", "-", "--preview", stdin=json.dumps(drafts))
    assert (seen.stdout, seen.stderr) == (f"Would add 4 tasks:\n{listed}Nothing is written yet.\n", "")
    assert nexus.ok("cycle", "show").startswith("No tasks")
    (nexus.place / "meine Entwürfe.json").write_text(json.dumps(drafts), encoding="utf-8")
    assert nexus.ok("plan", "tasks", "meine Entwürfe.json") == (
        f"Added 4 tasks:\n{listed}Next: git nexus cycle show\n"
    )  # fmt: skip
    assert nexus.ok("plan", "tasks") == "Nothing to add.\nQuestion 1 has tasks already: 1.\n"


def test_a_file_of_drafts_is_found_from_the_folder_that_was_named_and_else_refused(
    nexus: Nexus, tmp_path: Path
) -> None:
    (nexus.place / "drafts.json").write_text("[")
    (nexus.place / "object.json").write_text("{}")
    for argv, words, code in (
        (["nothing.json"], "error: nothing.json cannot be read: No such file or directory\n", 4),
        (["."], "error: . cannot be read: Is a directory\n", 4),
        (["drafts.json"], "error: drafts.json is not valid JSON: ", 6),
        (["object.json"], "error: drafts should be a list of objects\n", 6),
        (["--zap"], "", 2),
    ):
        done = nexus("plan", "tasks", *argv)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(words)
    (nexus.place / "drafts.json").write_text(json.dumps([DRAFT]))
    answer = json.loads(nexus.ok("-C", str(nexus.place), "plan", "tasks", "drafts.json", "--json", place=tmp_path))
    assert [task["title"] for task in answer["added"]] == ["Write it"]
    assert answer["_meta"]["command"] == "plan tasks"


def test_another_worktree_has_tasks_of_its_own(planned: Session, repository: Path, tmp_path: Path) -> None:
    make(planned)
    run_git(repository, "worktree", "add", "-q", str(tmp_path / "other"))

    done = Nexus(tmp_path / "other")("plan", "tasks")

    assert (done.returncode, done.stderr.splitlines()[0]) == (4, "error: No active plan session, and no drafts")
