"""CLEO's files and the backlog beside them: merged field by field, nothing lost or hidden without a word."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git

DAY = "2026-01-01T00:00:00Z"
FIRST: list[dict[str, Any]] = [
    {"id": "T1", "title": "one", "status": "pending", "description": "theirs", "createdAt": DAY},
    {"id": "T2", "title": "two", "status": "pending", "createdAt": DAY},
]


def write(place: Path, rows: list[dict[str, Any]]) -> Path:
    file = place / ".cleo" / "todo.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"tasks": rows}))
    return file


def asked(nexus: Nexus, *argv: str, place: Path | None = None) -> Any:
    return json.loads(nexus(*argv, "--json", place=place).stdout)


@pytest.fixture
def taken(project: Path, nexus: Nexus) -> Path:
    """A project that took the first two tasks over."""
    write(project, FIRST)
    nexus.ok("task", "import")
    return project


def test_an_update_keeps_what_was_changed_here_and_takes_what_was_changed_there(taken: Path, nexus: Nexus) -> None:
    nexus.ok("task", "update", "T1", "--description", "ours", "--note", "seen", "--label", "here")
    write(taken, [{**FIRST[0], "priority": "high", "labels": ["there"]}, FIRST[1]])

    done = nexus.ok("task", "import", "--update")
    after = asked(nexus, "show", "T1")

    assert (after["description"], after["notes"], after["priority"]) == ("ours", ["seen"], "high")
    assert after["labels"] == ["here", "there"]
    assert "Taken from the file: T1 priority, labels" in done
    assert "Changed here, and kept: T1 description, notes" in done


def test_where_both_changed_a_text_ours_stays_and_is_told(taken: Path, nexus: Nexus) -> None:
    nexus.ok("task", "update", "T1", "--description", "ours")
    write(taken, [{**FIRST[0], "description": "newer there"}, FIRST[1]])

    done = asked(nexus, "task", "import", "--update")

    assert (done["kept"], done["updated"]) == ({"T1": ["description"]}, [])
    assert asked(nexus, "show", "T1")["description"] == "ours"


def test_a_task_that_was_deleted_in_the_file_does_not_come_back(taken: Path, nexus: Nexus) -> None:
    file = write(taken, FIRST[:1])

    refused = nexus("task", "export")
    assert (refused.returncode, "the file no longer has T2" in refused.stderr) == (23, True)
    assert asked(nexus, "task", "import", "--update")["gone"] == ["T2"]
    nexus.ok("task", "export")

    assert [row["id"] for row in json.loads(file.read_text())["tasks"]] == ["T1"]
    assert nexus("show", "T2").returncode == 4


@pytest.mark.parametrize("ours", [("update", "T2", "--note", "x"), ("update", "T1", "--depends", "T2")])
def test_one_that_was_changed_or_is_needed_here_stays_and_is_told(
    taken: Path, nexus: Nexus, ours: tuple[str, ...]
) -> None:
    nexus.ok("task", *ours)
    write(taken, FIRST[:1])

    done = asked(nexus, "task", "import", "--update")

    assert done["gone"] == []
    assert done["kept"]["T2"] == ["all of it: the file no longer has it"]
    assert asked(nexus, "show", "T2")["title"] == "two"


def test_an_element_that_is_none_hides_no_other_and_is_named(project: Path, nexus: Nexus) -> None:
    relates = [{"taskId": "T1", "type": "relates-to"}, {"taskId": "T1", "type": "unheard"}]
    odd = {"depends": ["T1", 5], "labels": ["a", False, "b"], "relates": relates, "files": "x", "notes": ["n", None]}
    file = write(project, [FIRST[0], {**FIRST[1], **odd}])
    before = file.read_text()

    done = asked(nexus, "task", "import")
    after = asked(nexus, "show", "T2")

    assert done["unread"] == ["T2: labels[1]", "T2: files", "T2: notes[1]", "T2: depends[1]", "T2: relates[1]"]
    assert (after["labels"], after["depends"], after["notes"]) == (["a", "b"], ["T1", "5"], ["n"])
    assert [one["why"] for one in after["waitsFor"]] == ["is pending", "is not a reference to a task"]
    assert len(after["relates"]) == 1
    nexus.ok("task", "export")
    assert file.read_text() == before


def test_init_and_an_empty_list_offer_the_import(repository: Path, nexus: Nexus) -> None:
    write(repository, FIRST)
    offer = "CLEO keeps 2 tasks in .cleo/: git nexus task import imports them"

    assert offer in nexus.ok("init", "--no-hooks")
    assert offer in nexus("task", "list").stderr
    nexus.ok("task", "import")
    assert offer not in nexus("task", "list").stderr


@pytest.mark.slow
def test_a_project_whose_file_does_not_parse_is_named(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    file = write(other, FIRST)
    nexus.ok("register", str(other), "--name", "other")
    file.write_text('{"tasks": [')

    nexus.ok("task", "add", "mine")
    everywhere = (
        "search one",
        "index",
        "dependents T1",
        "blocking T1",
        "critical-path",
        "orphans",
        "graph",
        "discover T1",
    )

    for line in everywhere:
        told = nexus(*line.split())
        assert f"left out: other cannot be read: {file} is not valid JSON" in told.stderr, line
        assert asked(nexus, *line.split())["unreadable"][0]["project"] == "other", line
    for line in ("deps", "dependents", "blocking", "critical-path", "discover", "show", "query"):
        refused = nexus(line, "other:T1")
        assert (refused.returncode, "is not valid JSON" in refused.stderr) == (6, True), line
    assert f"other cannot be read: {file}" in nexus("doctor").stdout
    assert run_git(project, "status", "--porcelain", "--", ".cleo") == ""
