"""`git nexus task` and `git nexus show` as people and scripts call them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitnexus.state import State
from tests.conftest import Nexus, run_git
from tests.terminal import shown as terminal

DAY = "2026-01-01T00:00:00Z"


def asked(nexus: Nexus, *argv: str, place: Path | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nexus.ok(*argv, "--json", place=place))
    return found


def added(nexus: Nexus, *argv: str) -> str:
    return str(asked(nexus, "task", "add", *argv)["task"]["id"])


def refused(nexus: Nexus, *argv: str, place: Path | None = None) -> tuple[int, str]:
    done = nexus(*argv, "--json", place=place)
    error = json.loads(done.stdout)["error"]
    assert (done.stderr, error["code"]) == ("", done.returncode)
    return done.returncode, error["message"]


def test_a_task_from_its_beginning_to_its_end(project: Path, nexus: Nexus) -> None:
    assert (
        nexus.ok("task", "add", "Build the login", "--type", "epic", "--label", "auth") == "Added T1: Build the login\n"
    )
    assert nexus.ok("task", "add", "Draw it", "--parent", "T1", "--file", "a b.css") == "Added T2: Draw it\n"
    nexus.ok("task", "add", "Wire it", "--parent", "T1", "--depends", "T2", "--priority", "high")

    assert nexus.ok("task", "list") == (
        "T1  pending  medium  Build the login  auth\n"
        "T2  pending  medium    Draw it        ready\n"
        "T3  pending  high      Wire it        waits for T2\n"
        "3 tasks, 1 ready\n"
    )
    assert nexus.ok("task", "next").splitlines()[0] == "T2  Draw it"
    assert refused(nexus, "task", "complete", "T1")[0] == 6
    assert nexus.ok("task", "complete", "T2") == "Completed T2: Draw it\nNow ready: T3\n"
    assert nexus.ok("task", "complete", "T3") == "Completed T3: Wire it\nNow ready: T1\n"
    nexus.ok("task", "complete", "T1", "--note", "shipped")
    assert nexus.ok("task", "list") == "no task is open; 3 closed, --all shows them\n"
    assert nexus.ok("task", "next").startswith("Nothing can be started now.\n  no task is open")


def test_a_task_in_json_says_whose_it_is(project: Path, nexus: Nexus) -> None:
    nexus.ok("init", "--name", "buero")
    row = {"id": "T1", "title": "Sign in", "status": "pending", "depends": ["auth-lib:T456"], "labels": ["x"]}
    State.open(project).write({"backlog/T1.json": json.dumps(row).encode()}, why="seed")
    made = asked(nexus, "task", "update", "T1", "--priority", "high")

    key = made["_meta"]["project"]["hash"]
    task = made["task"]
    assert (task["taskId"], task["ref"], task["project"]) == (f"{key}:T1", "buero:T1", "buero")
    assert (task["depends"], task["labels"], task["files"], task["status"]) == (["auth-lib:T456"], ["x"], [], "pending")
    for name in ("T1", ".:T1", "buero:T1"):
        shown = asked(nexus, "show", name)
        assert {field: shown[field] for field in task} == task
    assert shown["blocked"] is True
    assert shown["waitsFor"] == [
        {"ref": "auth-lib:T456", "status": None, "why": "cannot be seen: project 'auth-lib' not found in registry"}
    ]
    assert asked(nexus, "task", "show", "T1")["id"] == "T1"
    listed = asked(nexus, "task", "list")
    assert [row["ref"] for row in listed["tasks"]] == ["buero:T1"]
    assert listed["total"] == 1


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["show", "T9"], 4, "no task T9"),
        (["show", "t1"], 72, "'t1' is not a reference to a task"),
        (["show", "a:b:T1"], 72, "'a:b:T1' is not a reference to a task"),
        (["show", ""], 72, "'' is not a reference to a task"),
        (["show", "*:T1"], 6, "every project"),
        (["show", "other:T1"], 70, "project 'other' not found in registry"),
        (["task", "add", "x", "--depends", "T 1"], 72, "'T 1' is not a reference to a task"),
        (["task", "add", "x", "--depends", "T9"], 4, "no task T9"),
        (["task", "add", " "], 6, "a task needs a title"),
        (["task", "add", "x" * 121], 6, "120 are the most"),
        (["task", "add", "x", "--priority", "urgent"], 2, "'urgent' is not one of"),
        (["task", "update", "T1", "--depends", "T1"], 6, "a cycle: T1 → T1"),
        (["task", "update", "T1", "--parent", "T1"], 6, "T1 cannot be below T1"),
        (["task", "claim", "T1", "--ttl", "1"], 6, "not a valid time for a claim"),
        (["task", "claim", "T1", "--release"], 4, "T1 is not claimed"),
        (["task", "list", "--parent", "T9"], 4, "no task T9"),
        (["task", "import"], 4, "there is no"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    project: Path, nexus: Nexus, argv: list[str], code: int, words: str
) -> None:
    nexus.ok("task", "add", "one")
    before = run_git(project, "rev-parse", "refs/nexus/state")

    status, message = refused(nexus, *argv)

    assert (status, words in message) == (code, True), message
    assert run_git(project, "rev-parse", "refs/nexus/state") == before


def test_text_of_strangers_is_shown_and_not_obeyed(project: Path, nexus: Nexus) -> None:
    record = {"id": "T1", "title": "a\x1b[2Jb\u202e", "description": "\x1b]0;x\x07", "labels": ["\x1b[31m"],
              "depends": ["\x1b"],
              "claim": {"by": "\x1b[1m", "until": "2999-01-01T00:00:00Z", "token": "t"}}  # fmt: skip
    (project / ".nexus" / "backlog").mkdir()
    (project / ".nexus" / "backlog" / "T1.json").write_text(json.dumps(record))

    shown = nexus.ok("task", "list") + nexus.ok("show", "T1") + nexus.ok("task", "next")

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "a\\x1b[2Jb\\u202e" in shown


def test_agents_claim_by_name_and_the_other_is_told(
    project: Path, nexus: Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    nexus.ok("task", "add", "one")
    monkeypatch.setenv("NEXUS_AGENT", "ada")
    mine = asked(nexus, "task", "claim", "T1", "--ttl", "30m")["claim"]
    again = asked(nexus, "task", "claim", "T1", "--ttl", "2h")["claim"]
    monkeypatch.setenv("NEXUS_AGENT", "bob")

    status, message = refused(nexus, "task", "claim", "T1")

    assert (mine["by"], again["token"]) == ("ada", mine["token"])
    assert (status, message) == (7, f"T1 is claimed by ada until {again['until']}")
    assert "claimed by ada" in nexus.ok("task", "list")
    assert asked(nexus, "task", "list", "--ready")["tasks"] == []
    assert asked(nexus, "task", "next")["why"] == ["others have claimed 1 task"]


def test_lists_are_narrowed_by_status_label_and_parent(project: Path, nexus: Nexus) -> None:
    nexus.ok("task", "add", "one", "--label", "a", "--label", "b")
    nexus.ok("task", "add", "two", "--parent", "T1", "--label", "a")
    nexus.ok("task", "add", "three", "--parent", "T2")
    nexus.ok("task", "add", "four", "--blocked-by", "the vendor")
    nexus.ok("task", "cancel", "T3")

    def ids(*argv: str) -> list[str]:
        return [row["id"] for row in asked(nexus, "task", "list", *argv)["tasks"]]

    assert ids() == ["T1", "T2", "T4"]
    assert ids("--all") == ["T1", "T2", "T3", "T4"]
    assert ids("--label", "a", "--label", "b") == ["T1"]
    assert ids("--parent", "T1", "--all") == ["T2", "T3"]
    assert ids("--status", "cancelled", "--status", "blocked") == ["T3", "T4"]
    assert ids("--ready") == ["T2"]
    assert ids("-n", "1") == ["T1"]


def test_a_terminal_gets_one_screen(project: Path, nexus: Nexus) -> None:
    records = {f"T{n}": {"id": f"T{n}", "title": f"task {n}"} for n in range(1, 61)}
    folder = project / ".nexus" / "backlog"
    folder.mkdir()
    for name, record in records.items():
        (folder / f"{name}.json").write_text(json.dumps(record))
    nexus.ok("status")

    shown = terminal(project, "sh", "-c", "stty rows 24 cols 80; git nexus task list")

    assert len(shown.splitlines()) <= 24
    assert "-n 60 shows them" in shown
    assert len(nexus.ok("task", "list").splitlines()) == 61


def test_a_folder_with_only_cleos_file_is_a_project_to_read(tmp_path: Path, nexus: Nexus) -> None:
    folder = tmp_path / "cleo ü"
    (folder / ".cleo").mkdir(parents=True)
    (folder / "deep").mkdir()
    rows = [
        {"id": "T001", "title": "one", "status": "done"},
        {"id": "T002", "title": "two", "depends": ["T001"], "labels": False},
    ]
    raw = json.dumps({"tasks": rows})
    (folder / ".cleo" / "todo.json").write_text(raw)

    listed = asked(nexus, "task", "list", place=folder / "deep")
    done = nexus("task", "add", "x", place=folder)

    assert [(row["id"], row["ready"], row["labels"]) for row in listed["tasks"]] == [("T002", True, [])]
    assert listed["_meta"]["project"]["path"] == str(folder)
    assert asked(nexus, "show", "T001", place=folder)["status"] == "done"
    assert asked(nexus, "task", "next", place=folder)["task"]["id"] == "T002"
    assert (done.returncode, "is kept by CLEO and only read here" in done.stderr) == (1, True)
    assert (folder / ".cleo" / "todo.json").read_text() == raw
    assert sorted(os.listdir(folder)) == [".cleo", "deep"]


def test_a_folder_that_does_not_exist_is_no_project_of_cleo(tmp_path: Path, nexus: Nexus) -> None:
    (tmp_path / ".cleo").mkdir()
    (tmp_path / ".cleo" / "todo.json").write_text('{"tasks": []}')

    done = nexus("task", "list", "-C", "nowhere", place=tmp_path)

    assert (done.returncode, "there is no folder" in done.stderr) == (4, True)


def test_a_name_that_another_project_is_registered_by_is_not_ones_own(
    project: Path, nexus: Nexus, tmp_path: Path
) -> None:
    other = tmp_path / "deep" / "other"
    other.mkdir(parents=True)
    run_git(other, "init", "-q")
    nexus.ok("init", "--name", "mine")
    nexus.ok("init", "--local", "--no-hooks", place=other)
    nexus.ok("task", "add", "one", place=other)

    assert asked(nexus, "show", "other:T1", place=other)["title"] == "one"
    nexus.ok("init", "--name", "other")
    assert refused(nexus, "show", "other:T1", place=other) == (4, "no task T1")


def test_a_bare_repository_has_a_backlog_too(tmp_path: Path, nexus: Nexus) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")
    place = tmp_path / "bare.git"
    nexus.ok("init", "--local", place=place)

    assert nexus.ok("task", "add", "one", place=place) == "Added T1: one\n"
    assert refused(nexus, "task", "export", place=place) == (2, "a bare repository has no .cleo folder: name a file")


def test_the_nearest_project_counts(project: Path, nexus: Nexus) -> None:
    inner = project / "part"
    for place in (project, inner):
        (place / ".cleo").mkdir(parents=True)
        (place / ".cleo" / "todo.json").write_text(json.dumps({"tasks": [{"id": "T5", "title": place.name}]}))
    nexus.ok("task", "add", "ours")

    assert [row["title"] for row in asked(nexus, "task", "list")["tasks"]] == ["ours"]
    assert [row["title"] for row in asked(nexus, "task", "list", place=inner)["tasks"]] == ["part"]


def test_import_and_export_round_trip_as_commands(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    rows = [{"id": "T001", "title": "eins", "status": "pending", "createdAt": DAY, "x": [1.0, None]}]
    raw = json.dumps({"_meta": {"a": 1}, "tasks": rows, "zz": True}, indent=4) + "\n"
    file = project / ".cleo" / "todo.json"
    file.parent.mkdir()
    file.write_text(raw)

    assert asked(nexus, "task", "import")["added"] == ["T001"]
    assert nexus.ok("task", "export") == f"{file} is up to date\n"
    assert nexus.ok("task", "export", str(tmp_path / "copy.json")).startswith("Wrote 1 task to ")
    assert (tmp_path / "copy.json").read_text() == raw
    assert nexus.ok("task", "export", "-") == raw
    assert refused(nexus, "task", "import")[0] == 3
    assert added(nexus, "new") == "T2"
    nexus.ok("task", "export")
    assert [row["id"] for row in json.loads(file.read_text())["tasks"]] == ["T001", "T2"]
    file.write_text(file.read_text().replace("eins", "von CLEO"))
    assert refused(nexus, "task", "export") == (23, "the file has tasks that are not known here: T001")
    assert asked(nexus, "task", "import", "--update")["updated"] == ["T001"]
    assert asked(nexus, "show", "T001")["title"] == "von CLEO"


def test_tools_for_agents_work_on_the_same_tasks(project: Path, nexus: Nexus) -> None:
    nexus.ok("task", "add", "by a person")

    made = json.loads(nexus.ok("tool", "nx_backlog_add", '{"title": "by an agent", "depends": ["T1"]}'))
    wrong = nexus("tool", "backlog_complete", '{"task": "T2"}')

    assert made["task"]["id"] == "T2"
    assert (wrong.returncode, json.loads(wrong.stdout)) == (6, {"error": "T2 cannot be completed: T1 is pending"})
    assert json.loads(nexus.ok("tool", "backlog_next"))["task"]["id"] == "T1"


@pytest.mark.slow(seconds=20)
def test_sixteen_shells_with_six_commands_each_make_ninety_six_tasks(project: Path, nexus: Nexus) -> None:
    loop = 'for n in $(seq 6); do git nexus task add "p$0 $n" || exit 1; done'
    shells = [
        subprocess.Popen(["sh", "-c", loop, str(n)], cwd=project, stdout=subprocess.PIPE, text=True) for n in range(16)
    ]

    told = [
        line.split(":")[0].removeprefix("Added ") for shell in shells for line in shell.communicate()[0].splitlines()
    ]

    assert sorted(told, key=lambda one: int(one[1:])) == [f"T{n}" for n in range(1, 97)]
    assert asked(nexus, "task", "list")["total"] == 96
