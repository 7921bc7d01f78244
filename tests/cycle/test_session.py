"""The tools on real repositories: files, the ref, and what must never be lost."""

import json
import subprocess
from pathlib import Path

import pytest

from gitnexus.base.errors import NexusError
from gitnexus.cycle import Session, call
from gitnexus.state import STATE_REF, State
from tests.conftest import Nexus, run_git
from tests.forked import ForkedPython

START = {"topic": "Storage", "issues": ["Which engine?"], "research_summary": ""}


@pytest.fixture
def session(repository: Path) -> Session:
    """The session of a repository that was never initialised."""
    return Session(State.open(repository), harness="test")


def everything(place: Path) -> dict[str, bytes]:
    """Every file below .nexus/ and the tip of the state."""
    files = {str(p.relative_to(place)): p.read_bytes() for p in (place / ".nexus").rglob("*") if p.is_file()}
    return {**files, "tip": run_git(place, "for-each-ref", "refs/nexus").encode()}


def test_the_first_write_makes_what_it_needs_and_nothing_more(session: Session, repository: Path, sealed: Path) -> None:
    call(session, "plan_start", START)

    assert sorted(everything(repository)) == [".nexus/.gitignore", ".nexus/state/plan.json", "tip"]
    assert run_git(repository, "status", "--porcelain") == ""
    assert run_git(repository, "for-each-ref", "refs/nexus") == ""
    assert not (repository / ".git" / "hooks" / "pre-commit").exists()
    assert not (sealed / "nexus").exists()


def test_closing_a_cycle_is_one_commit_that_says_what_was_closed(session: Session, repository: Path) -> None:
    call(session, "plan_start", START)
    call(session, "plan_decide", {"issue_id": 1, "decision": "SQLite"})
    call(session, "task_add", {"title": "t", "context": "c"})
    closed = call(session, "nx_task_close", {})

    assert closed["deleted"] == ["plan.json", "tasks.json"]
    assert closed["memoryHint"] == {"taskCount": 1, "decisionCount": 1, "cycleTopics": ["Storage"]}
    assert run_git(repository, "log", "--format=%s", STATE_REF).splitlines()[0] == (
        "cycle: close the plan 'Storage', 0 of 1 tasks done"
    )
    on_ref = json.loads(run_git(repository, "show", f"{STATE_REF}:history.json"))
    assert on_ref == json.loads((repository / ".nexus" / "history.json").read_text())
    assert on_ref["cycles"][0]["plan"]["issues"][0]["decision"] == "SQLite"


def test_a_plan_that_is_replaced_is_archived_and_numbers_never_repeat(session: Session) -> None:
    call(session, "plan_start", START)
    second = call(session, "plan_start", {**START, "topic": "Other"})
    call(session, "task_close", {})
    third = call(session, "plan_start", START)

    assert (second["plan_id"], second["previousArchived"]) == (2, True)
    assert (third["plan_id"], third["previousArchived"]) == (3, False)
    assert [row.get("topic") for row in call(session, "history_search", {})["cycles"]] == ["Storage", "Other"]


def test_a_history_that_another_tool_wrote_is_read_and_taken_along(session: Session, repository: Path) -> None:
    (repository / ".nexus").mkdir()
    cycle = {
        "completed_at": "2026-01-01T00:00:00Z",
        "branch": "main",
        "plan": None,
        "tasks": [],
        "extra": {"kept": True},
    }
    (repository / ".nexus" / "history.json").write_text(json.dumps({"cycles": [cycle], "by": "another"}, indent=2))

    assert call(session, "history_search", {})["total"] == 1
    call(session, "task_close", {})

    after = json.loads((repository / ".nexus" / "history.json").read_text())
    assert [len(after["cycles"]), after["cycles"][0]["extra"], after["by"]] == [2, {"kept": True}, "another"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("history.json", "<<<<<<< a\n{}\n=======\n{}\n>>>>>>> b\n"),
        ("history.json", '{"cycles": [{"branch": 3}]}'),
        ("state/plan.json", '{"id": 1, "topic": "x", "iss'),
        ("state/tasks.json", ""),
        ("state/tasks.json", '{"goal": "g", "tasks": [{"id": "one"}]}'),
    ],
)
@pytest.mark.parametrize("initialised", [True, False])
def test_a_file_that_does_not_parse_is_named_and_every_byte_stays(
    repository: Path, name: str, data: str, initialised: bool
) -> None:
    if initialised:
        Nexus(repository).ok("init")
    session = Session(State.open(repository))
    call(session, "plan_start", START)
    call(session, "task_add", {"title": "t", "context": "c"})
    (repository / ".nexus" / name).write_text(data)
    before = everything(repository)

    for tool, params in (("task_close", {}), ("plan_start", START)):
        if name == "state/tasks.json" and tool == "plan_start":
            continue  # a plan does not concern the tasks
        with pytest.raises(NexusError) as refused:
            call(Session(State.open(repository)), tool, params)
        assert name in refused.value.message
    after = everything(repository)
    if '"branch": 3' in data:  # JSON all the same: what a person wrote is on the ref, as it stands
        after["tip"] = before["tip"]
    assert after == before


def test_a_folder_that_cannot_be_written_is_an_error_and_changes_nothing(session: Session, repository: Path) -> None:
    call(session, "task_add", {"title": "t", "context": "c"})
    folder = repository / ".nexus" / "state"
    before = everything(repository)
    folder.rename(repository / ".nexus" / "elsewhere")
    folder.write_text("a file in its place")  # root writes into any folder; nobody writes into a file

    with pytest.raises((NexusError, OSError)):
        call(session, "task_add", {"title": "u", "context": "c"})

    folder.unlink()
    (repository / ".nexus" / "elsewhere").rename(folder)
    assert everything(repository) == before


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/x",
        "a/../../x",
        "",
        ".",
        "..",
        "a/./b",
        "x\0y",
        "x" * 300,
        "y/" * 600 + "z",
        ".git/hooks/x",
        "a\\b",
        "l/x",
    ],
)
def test_an_artifact_never_leaves_its_folder(session: Session, repository: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    artifacts = repository / ".nexus" / "state" / "artifacts"
    artifacts.mkdir(parents=True)
    (artifacts / "l").symlink_to(outside)

    with pytest.raises((NexusError, OSError)):
        call(session, "artifact_write", {"filename": name, "content": "x"})

    assert list(outside.iterdir()) == []
    assert [path.name for path in artifacts.rglob("*")] == ["l"]


def test_an_artifact_that_is_a_link_is_not_written_through(session: Session, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    artifacts = repository / ".nexus" / "state" / "artifacts"
    artifacts.mkdir(parents=True)
    (artifacts / "note.md").symlink_to(tmp_path / "precious")

    with pytest.raises(NexusError):
        call(session, "artifact_write", {"filename": "note.md", "content": "x"})

    assert (tmp_path / "precious").read_text() == "kept"


def test_artifacts_in_folders_are_written_and_listed(session: Session) -> None:
    written = call(session, "artifact_write", {"filename": "research/größe.md", "content": "é\n"})

    assert Path(written["path"]).read_text() == "é\n"
    assert call(session, "artifact_list", {}) == {"artifacts": [{"filename": "research/größe.md", "size": 3}]}


def test_the_branch_is_told_also_when_head_is_detached(session: Session, repository: Path) -> None:
    assert call(session, "context", {})["branch"] == "main"
    run_git(repository, "switch", "-q", "-c", "feature/x y".replace(" ", "-"))
    assert call(session, "context", {})["branch"] == "feature/x-y"
    run_git(repository, "switch", "-q", "--detach")
    assert call(session, "context", {})["branch"] == run_git(repository, "rev-parse", "--short=7", "HEAD").strip()


def test_agents_are_tracked_per_harness(session: Session, repository: Path) -> None:
    call(session, "session_start", {})
    call(session, "agent_spawn", {"agent_name": "p:engineer", "agent_id": "u1"})
    call(session, "agent_spawn", {"agent_name": "tester", "agent_id": "u2", "harness_id": "other"})
    call(session, "agent_complete", {"agent_id": "u1", "last_message": "done", "files_touched": ["a.py"]})
    resumed = call(session, "agent_resume", {"agent_id": "u1"})["agent"]

    assert (resumed["agent_name"], resumed["status"], resumed["resume_count"]) == ("engineer", "running", 1)
    assert len(json.loads((repository / ".nexus/state/other/agent-tracker.json").read_text())) == 1
    with pytest.raises(NexusError, match="u2 not found"):
        call(session, "agent_complete", {"agent_id": "u2"})
    with pytest.raises(NexusError):
        call(session, "agent_spawn", {"agent_name": "x", "agent_id": "1", "harness_id": "../up"})
    call(session, "session_end", {})
    assert not (repository / ".nexus/state/test/agent-tracker.json").exists()


def test_a_session_tells_what_an_earlier_one_left_and_what_is_open(session: Session) -> None:
    call(session, "plan_start", START)
    call(session, "task_add", {"title": "t", "context": "c"})

    assert call(session, "session_start", {})["stale"] == ["plan.json", "tasks.json"]
    assert call(session, "session_end", {})["warnings"] == [
        "the plan 'Storage' has issues that are not decided",
        "1 tasks are not completed",
    ]


def test_a_task_remembers_what_came_of_it_and_who_goes_on(session: Session) -> None:
    call(session, "agent_spawn", {"agent_name": "engineer", "agent_id": "u1"})
    call(session, "agent_complete", {"agent_id": "u1", "files_touched": ["a.py", "b.py"]})
    owner = {"owner": "engineer", "owner_agent_id": "u1"}
    call(session, "task_add", {"title": "t", "context": "c", **owner})
    done = call(session, "task_update", {"id": 1, "status": "completed", "outcome": "partial", "summary": "half"})

    assert done["task"]["result"]["outcome"] == "partial"
    assert call(session, "task_resume", {"id": 1, "files": ["a.py"]})["agent_id"] == "u1"
    assert not call(session, "task_resume", {"id": 1, "files": ["c.py"]})["resume"]


def test_analyses_are_only_ever_added(session: Session) -> None:
    call(session, "plan_start", START)
    for number in (1, 2):
        note = {"issue_id": 1, "agent_name": "architect", "summary": f"s{number}", "agent_id": f"u{number}"}
        call(session, "plan_analysis_add", note)

    assert [a["summary"] for a in call(session, "plan_status", {})["issues"][0]["analysis"]] == ["s1", "s2"]
    assert call(session, "plan_resume", {"issue_id": 1, "agent_name": "architect"})["agent_id"] == "u2"
    assert not call(session, "plan_resume", {"issue_id": 1, "agent_name": "tester"})["resume"]


def test_history_can_be_searched_in_parts_with_the_words_around(session: Session) -> None:
    call(session, "plan_start", START)
    call(session, "plan_decide", {"issue_id": 1, "decision": "Take the little engine"})
    call(session, "task_close", {})

    found = call(session, "history_search", {"query": "LITTLE", "scope": "decisions", "excerpts": True})
    assert "little engine" in found["cycles"][0]["excerpt"]
    assert call(session, "history_search", {"query": "little", "scope": "tasks"})["total"] == 0
    assert call(session, "history_search", {"last_n": 0})["showing"] == 0


ADDER = """
import sys
from pathlib import Path
from gitnexus.cycle import Session, call
from gitnexus.state import State
session = Session(State.open(Path(sys.argv[1])))
for _ in range(25):
    print(call(session, "task_add", {"title": "t", "context": "c"})["task"]["id"], flush=True)
"""


@pytest.mark.parametrize("processes", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_add_many_tasks_at_once_and_none_is_lost(repository: Path, processes: int) -> None:
    started = [ForkedPython(ADDER, str(repository)) for _ in range(processes)]

    told = [int(line) for process in started for line in process.communicate()[0].split()]

    kept = json.loads((repository / ".nexus" / "state" / "tasks.json").read_text())["tasks"]
    assert sorted(told) == sorted(task["id"] for task in kept) == list(range(1, 25 * processes + 1))


def test_the_tool_command_answers_as_an_agent_would_get_it(nexus: Nexus) -> None:
    assert json.loads(nexus.ok("tool", "plan_status")) == {"active": False}
    started = subprocess.run(
        ["git", "nexus", "tool", "plan_start", "-"],
        cwd=nexus.place, input=json.dumps(START), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(started.stdout)["plan_id"] == 1
    for argv, words, code in (
        (["plan_decide", '{"issue_id": 9, "decision": "x"}'], "Issue 9 not found", 4),
        (["plan_start", '{"topic": "x"}'], "issues is required for plan_start", 6),
        (["no_such_tool"], "there is no tool 'no_such_tool'", 4),
        (["plan_start", "{"], "not valid JSON", 6),
        (["plan_start", "[]"], "the parameters should be a JSON object", 6),
    ):
        done = nexus("tool", *argv)
        assert words in json.loads(done.stdout)["error"]
        assert done.returncode == code


def test_a_bare_repository_has_no_session(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "b.git")

    assert "bare" in json.loads(Nexus(tmp_path / "b.git")("tool", "plan_status").stdout)["error"]


def test_no_git_process_is_started_for_a_plain_call(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    call(session, "plan_start", START)
    monkeypatch.setattr(subprocess, "Popen", None)

    call(session, "task_add", {"title": "t", "context": "c"})
    call(session, "plan_status", {})
    assert call(session, "context", {})["branch"] == "main"


def test_people_read_plan_cycle_and_history(nexus: Nexus) -> None:
    assert nexus.ok("plan", "show") == "No plan is open.\nNext: git nexus plan start TOPIC QUESTION…\n"
    nexus.ok("plan", "start", "Storage", "Which engine?", "Migrate how?", "--research", "looked\x1b[2J")
    nexus.ok("plan", "add", "When?")
    nexus.ok("plan", "decide", "1", "SQLite")
    nexus.ok("plan", "decide", "2", "Slowly")
    nexus.ok("plan", "reopen", "2")
    assert nexus.ok("plan", "show") == (
        "Plan 1: Storage (1 of 3 decided)\n"
        "  1  decided  Which engine?\n"
        "              → SQLite\n"
        "  2  open     Migrate how?\n"
        "  3  open     When?\n"
        "\n"
        "looked\\x1b[2J\n"
    )
    nexus.ok("tool", "task_add", '{"title": "write", "context": "c"}')
    nexus.ok("tool", "task_add", '{"title": "test", "context": "c", "deps": [1]}')
    assert nexus.ok("cycle", "show") == (
        "Storage (0 of 2 tasks completed)\n  1  pending  ready  write\n  2  pending         test (after 1)\n"
    )
    assert nexus("cycle", "close", "--refuse-open").returncode == 23
    assert nexus.ok("cycle", "close").startswith(
        "Closed on main: a plan, 1 decision, 2 tasks. The history now has 1 cycle."
    )
    assert nexus.ok("history", "sqlite").splitlines()[1] == "    Which engine?: SQLite"
    assert nexus.ok("history", "nothing like it") == "No closed cycle matches.\n"
    assert json.loads(nexus.ok("history", "--json"))["total"] == 1
