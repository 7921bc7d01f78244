"""Reads that a harness's own tool makes, told by its hook; and forgetting at the end of a cycle."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.reads import READS, paths_of_read_call
from gitnexus.memory import Notes
from gitnexus.memory.access import read_note_uses
from gitnexus.memory.gc import forget_automatically
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from tests.conftest import Nexus, run_git, trust


@pytest.fixture
def noted(project: Path, nexus: Nexus) -> Path:
    """A project with one note."""
    nexus.ok("memory", "add", "pattern-release", "Tag first, then publish.")
    return project / ".nexus" / "memory" / "pattern-release.md"


def told(nexus: Nexus, harness: str, payload: object) -> str:
    done = nexus("hook", "harness", harness, "post_tool_use", stdin=json.dumps(payload))
    assert (done.returncode, done.stdout) == (0, "{}" if harness == "opencode" else "")
    return done.stderr


@pytest.mark.parametrize(
    ("harness", "tool", "field"),
    [
        ("claude-code", "Read", "file_path"),
        ("gemini-cli", "read_file", "file_path"),
        ("opencode", "read", "filePath"),
    ],
)
def test_a_read_by_the_programs_own_tool_is_counted(
    noted: Path, nexus: Nexus, harness: str, tool: str, field: str
) -> None:
    for path in (str(noted), ".nexus/memory/pattern-release.md"):
        payload = {"tool_name": tool, "tool_input": {field: path}, "cwd": str(nexus.place), "session_id": "s1"}
        if harness == "opencode":
            payload = {"tool": tool, "args": {field: path}, "cwd": str(nexus.place), "session": "s1"}
        assert told(nexus, harness, payload) == ""

    log = nexus.place / ".nexus" / "state" / harness / "memory-access.jsonl"
    row = json.loads(log.read_text())
    assert (row["path"], row["access_count"], row["last_agent"]) == (str(noted), 2, "s1")


@pytest.mark.parametrize(
    "change",
    [
        {"tool_name": "Grep"},
        {"tool_name": "Write"},
        {"tool_name": "Bash", "tool_input": {"command": "cat .nexus/memory/pattern-release.md"}},
        {"tool_input": {"file_path": ".nexus/memory"}},
        {"tool_input": {"file_path": ".nexus/memory/none.md"}},
        {"tool_input": {"file_path": ".nexus/memory/../settings.json"}},
        {"tool_input": {"file_path": ".nexus/memory/link.md"}},
        {"tool_input": {"file_path": 7}},
        {"tool_input": "…"},
        {"tool_response": {"is_error": True}},
    ],
)
def test_nothing_else_is(noted: Path, nexus: Nexus, change: dict[str, object]) -> None:
    (noted.parent / "link.md").symlink_to("/etc/passwd")
    payload = {"tool_name": "Read", "tool_input": {"file_path": str(noted)}, "cwd": str(nexus.place), **change}

    assert told(nexus, "claude-code", payload) == ""

    assert read_note_uses(Notes(State.open(nexus.place))) == {}


def test_a_hook_that_cannot_do_its_work_says_so_and_stops_nobody(noted: Path, nexus: Nexus) -> None:
    broken = nexus("hook", "harness", "claude-code", "post_tool_use", stdin='{".nexus')
    unknown = nexus("hook", "harness", "nobody", "post_tool_use", stdin='{"x": ".nexus"}')
    event = nexus("hook", "harness", "claude-code", "lunch", stdin="{}")

    assert (broken.returncode, unknown.returncode, event.returncode) == (0, 0, 1)
    assert broken.stderr.startswith("git nexus: post_tool_use was skipped: not valid JSON")
    assert "there is no harness 'nobody'" in unknown.stderr
    assert "post_tool_use" in event.stderr


def test_a_read_in_another_worktree_is_counted_there(noted: Path, nexus: Nexus, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_git(nexus.place, "worktree", "add", "-q", str(other))
    path = other / ".nexus" / "memory" / "pattern-release.md"

    told(nexus, "claude-code", {"tool_name": "Read", "tool_input": {"file_path": str(path)}})

    assert (other / ".nexus" / "state" / "claude-code" / "memory-access.jsonl").exists()
    assert not (nexus.place / ".nexus" / "state" / "claude-code" / "memory-access.jsonl").exists()


def test_codex_has_no_read_tool_to_observe() -> None:
    assert not HARNESSES["codex"].observes_reads
    told = HarnessEvent("codex", "post_tool_use", "PostToolUse", tool="Bash", given={"command": "cat x"})
    assert paths_of_read_call(told) == []


@pytest.mark.parametrize("harness", [one for one in HARNESSES if one != "git-nexus"])
def test_the_tools_that_read_are_those_of_the_catalog(harness: str) -> None:
    assert READS[harness] == {tool.name: tool.fields for tool in HARNESSES[harness].reads}


GC = {"automatic": True, "daysSinceAccess": 0, "cyclesSinceAccess": 0, "accessesAtMost": 5}


def settings(project: Path, gc: dict[str, object]) -> None:
    State.open(project).write({"settings.json": json.dumps({"memory": {"gc": gc}}).encode()}, why="settings")
    trust(project)


def test_closing_a_cycle_forgets_if_the_project_asked_and_the_harness_observes(noted: Path, nexus: Nexus) -> None:
    project = nexus.place
    settings(project, GC)
    unseen = json.loads(nexus.ok("tool", "task_close"))
    assert "forgotten" not in unseen  # git-nexus does not see what the program behind it reads

    told(nexus, "claude-code", {"tool_name": "Read", "tool_input": {"file_path": str(noted)}})
    nexus.ok("memory", "add", "pattern-other", "Something else entirely, about tests.")
    import os

    os.environ["NEXUS_HARNESS"] = "claude-code"
    try:
        closed = json.loads(nexus.ok("tool", "task_close"))
    finally:
        del os.environ["NEXUS_HARNESS"]

    assert closed["closed"] is True
    assert closed["forgotten"]["notes"] == ["pattern-other", "pattern-release"]
    assert State.open(project).snapshot.names("memory") == []
    nexus.ok("memory", "restore", "--from", closed["forgotten"]["commit"])
    assert State.open(project).snapshot.names("memory") == ["pattern-other.md", "pattern-release.md"]


def test_a_harness_that_began_to_observe_yesterday_does_not_know_of_a_year_ago(noted: Path, nexus: Nexus) -> None:
    settings(nexus.place, {**GC, "daysSinceAccess": 90})
    told(nexus, "claude-code", {"tool_name": "Read", "tool_input": {"file_path": str(noted)}})
    state = open_state(nexus.place)

    soon = Notes(state, harness="claude-code", clock=lambda: datetime.now(UTC) + timedelta(days=89))
    late = Notes(state, harness="claude-code", clock=lambda: datetime.now(UTC) + timedelta(days=91))
    never = Notes(state, harness="gemini-cli", clock=lambda: datetime.now(UTC) + timedelta(days=91))

    assert forget_automatically(never, lambda harness: True) is None
    first = forget_automatically(soon, lambda harness: True)
    assert first is not None
    assert first.deleted == ()
    second = forget_automatically(late, lambda harness: True)
    assert second is not None
    assert second.deleted == ("pattern-release",)


def test_settings_that_break_a_rule_do_not_stop_a_close(noted: Path, nexus: Nexus) -> None:
    settings(nexus.place, {"automatic": True, "daysSinceAccess": 1})

    closed = json.loads(nexus.ok("tool", "task_close"))

    assert closed["closed"] is True
    assert "at least 3 signals, 1 is set" in closed["memoryNotice"]
    assert nexus("memory", "stats").returncode == 6
