"""What an agent proposes and asks while it works, and what comes of it when a person answers."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Busy, Conflict, DeniedByPolicy, Invalid, NotFound
from gitnexus.events.view import ActionView, RunView
from gitnexus.runs.actions.approve import approve_action, deny_action
from gitnexus.runs.actions.ask import answer_question
from gitnexus.runs.agent import tools
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.runs.drive import denied_patches
from gitnexus.runs.open_run import OpenRun
from tests.conftest import Nexus, run_git, trust
from tests.runs.begun import begun, new_file, patch_of

GREET = patch_of("readme.txt", "hello", "goodbye")


@pytest.fixture
def desk(project: Path) -> Iterator[OpenRun]:
    with begun(project) as found:
        yield found


def allowed(nexus: Nexus, *words: str) -> None:
    nexus.ok("policy", "add", "allow", *words)
    trust(nexus.place)


def kinds(desk: OpenRun) -> list[str]:
    return [event.kind for event in desk.log.read()]


def test_a_patch_waits_and_is_committed_and_in_the_files_once_a_person_says_yes(desk: OpenRun, project: Path) -> None:
    waiting = call_run_tool(desk, "propose_patch", {"patch": GREET, "summary": "greet"})
    before = (desk.worktree_path / "readme.txt").read_text()
    approve_action(desk, "a1")
    done = call_run_tool(desk, "status", {"id": "a1"})

    assert (waiting["action"], waiting["status"], waiting["rule"]) == ("a1", "waiting", "silence")
    assert before == "hello\n"
    assert (done["status"], done["ok"]) == ("executed", True)
    assert run_git(project, "rev-parse", desk.branch).strip() == done["commit"]
    assert (desk.worktree_path / "readme.txt").read_text() == "goodbye\n"
    assert run_git(desk.worktree_path, "status", "--porcelain", "-uno") == ""
    assert (project / "readme.txt").read_text() == "hello\n"
    assert desk.view().odd == ()


def test_what_the_policy_allows_is_done_at_once(nexus: Nexus, project: Path) -> None:
    allowed(nexus, "--write", "readme.txt")
    allowed(nexus, "--", "cat", "readme.txt")
    with begun(project) as desk:
        patched = call_run_tool(desk, "propose_patch", {"patch": GREET})
        shown = call_run_tool(desk, "propose_command", {"argv": ["cat", "readme.txt"]})

        assert (patched["status"], len(patched["commit"])) == ("executed", 40)
        assert (shown["status"], shown["exit"], shown["output"]) == ("executed", 0, "goodbye\n")
        assert desk.view().odd == ()


def test_a_command_is_run_by_whoever_says_yes_and_the_agent_reads_what_it_printed(desk: OpenRun) -> None:
    given = {"argv": ["sh", "-c", "cat; pwd; exit 3"], "stdin": "from the agent\n"}

    waiting = call_run_tool(desk, "propose_command", given)
    assert approve_action(desk, "a1") == "executed"
    done = call_run_tool(desk, "wait", {"id": "a1"})

    assert waiting["status"] == "waiting"
    assert (done["status"], done["ok"], done["exit"]) == ("executed", False, 3)
    assert done["output"] == f"from the agent\n{desk.worktree_path}\n"
    assert desk.view().odd == ()


def test_the_same_command_may_be_run_again_and_is_another_action(desk: OpenRun) -> None:
    first = call_run_tool(desk, "propose_command", {"argv": ["true"]})
    second = call_run_tool(desk, "propose_command", {"argv": ["true"]})

    assert [first["action"], second["action"]] == ["a1", "a2"]
    assert [approve_action(desk, "a2"), approve_action(desk, "a1"), approve_action(desk, "a1")] == ["executed"] * 3
    assert kinds(desk).count("tool.executed") == 2


def test_what_a_person_or_a_rule_denies_is_told_with_the_reason(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "deny", "--why", "not here", "--", "date")
    trust(project)
    with begun(project) as desk:
        by_rule = call_run_tool(desk, "propose_command", {"argv": ["date"]})
        call_run_tool(desk, "propose_patch", {"patch": GREET})
        deny_action(desk, "a2", "too short")
        by_person = call_run_tool(desk, "wait", {"id": "a2"})

        assert (by_rule["status"], "not here" in by_rule["why"]) == ("denied", True)
        assert (by_person["status"], by_person["why"]) == ("denied", "too short")
        assert approve_action(desk, "a1") == "denied"
        assert "tool.intended" not in kinds(desk)


def test_one_patch_waits_at_a_time_and_may_be_replaced_by_another(desk: OpenRun) -> None:
    other = patch_of("readme.txt", "hello", "good evening")
    call_run_tool(desk, "propose_patch", {"patch": GREET})

    same = call_run_tool(desk, "propose_patch", {"patch": GREET})
    with pytest.raises(Conflict):
        call_run_tool(desk, "propose_patch", {"patch": other})
    with pytest.raises(NotFound):
        call_run_tool(desk, "propose_patch", {"patch": other, "replaces": "a7"})
    instead = call_run_tool(desk, "propose_patch", {"patch": other, "replaces": "a1"})
    approve_action(desk, "a2")

    assert (same["action"], instead["action"]) == ("a1", "a2")
    assert call_run_tool(desk, "status", {"id": "a1"})["why"] == "a2 replaces it"
    assert (desk.worktree_path / "readme.txt").read_text() == "good evening\n"
    assert denied_patches(desk.view()) == []


def test_a_command_that_waited_while_the_branch_moved_has_to_be_proposed_again(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_patch", {"patch": GREET})
    call_run_tool(desk, "propose_command", {"argv": ["cat", "readme.txt"]})
    approve_action(desk, "a1")

    with pytest.raises(Conflict) as refused:
        approve_action(desk, "a2")

    assert "this changed: base" in refused.value.message
    told = call_run_tool(desk, "wait", {"id": "a2"})
    assert (told["status"], "changed: base" in told["why"]) == ("denied", True)


def test_a_file_that_the_agent_changed_itself_is_not_written_over(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_patch", {"patch": GREET})
    (desk.worktree_path / "readme.txt").write_text("mine\n")
    approve_action(desk, "a1")

    assert (desk.worktree_path / "readme.txt").read_text() == "mine\n"
    assert call_run_tool(desk, "diff", {})["diff"].count("+mine") == 1


def test_a_question_waits_for_its_answer_and_the_answer_is_told(desk: OpenRun) -> None:
    asked = call_run_tool(desk, "ask", {"question": "which colour?"})
    again = call_run_tool(desk, "ask", {"question": "which colour?"})
    status = desk.view().status
    answer_question(desk, "green", by="Ann")
    told = call_run_tool(desk, "wait", {"id": "q1"})
    with pytest.raises(NotFound):
        answer_question(desk, "blue")

    assert asked == again == {"question": "q1", "status": "waiting"}
    assert (status, desk.view().status) == ("waiting", "running")
    assert told == {"question": "q1", "status": "answered", "answer": "green"}


def test_of_several_questions_one_has_to_be_named(desk: OpenRun) -> None:
    for words in ("one?", "two?"):
        call_run_tool(desk, "ask", {"question": words})

    with pytest.raises(Invalid):
        answer_question(desk, "yes")
    assert answer_question(desk, "yes", "q2") == "q2"
    assert list(desk.view().questions) == ["q1"]


def test_a_handoff_is_judged_and_its_message_kept(desk: OpenRun) -> None:
    waiting = call_run_tool(desk, "handoff", {"to": "scripted", "message": "look at it"})
    approve_action(desk, "a1")
    done = call_run_tool(desk, "status", {"id": "a1"})

    assert (waiting["kind"], waiting["status"], done["status"]) == ("handoff", "waiting", "executed")
    kept = f"sha256:{hashlib.sha256(b'look at it').hexdigest()}"
    assert desk.artifacts.read(kept) == b"look at it"


def test_it_reads_lists_searches_and_tells_what_waits(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_command", {"argv": ["true"]})
    call_run_tool(desk, "ask", {"question": "now?"})

    assert call_run_tool(desk, "read", {"path": "readme.txt"})["text"] == "hello"
    assert "readme.txt" in str(call_run_tool(desk, "read", {}))
    assert "readme.txt" in str(call_run_tool(desk, "search", {"query": "hell"}))
    told = call_run_tool(desk, "status", {})
    assert ([one["action"] for one in told["actions"]], told["questions"]) == (
        ["a1"], [{"question": "q1", "text": "now?"}]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        pytest.param("propose_patch", {"patch": new_file("../outside")}, id="path-outside"),
        pytest.param("propose_patch", {"patch": new_file("/etc/outside")}, id="path-absolute"),
        pytest.param("propose_patch", {"patch": new_file(".git/hooks/x")}, id="into-git"),
        pytest.param("propose_patch", {"patch": "no diff"}, id="no-patch"),
        pytest.param("propose_patch", {"patch": "\ud800"}, id="half-a-pair"),
        pytest.param("propose_patch", {}, id="nothing"),
        pytest.param("propose_patch", {"patch": GREET, "approval": "nx1.a.b"}, id="a-token-of-its-own"),
        pytest.param("propose_command", {"argv": []}, id="no-argv"),
        pytest.param("propose_command", {"argv": ["true\0"]}, id="nul"),
        pytest.param("propose_command", {"argv": ["true"], "cwd": "../.."}, id="cwd-outside"),
        pytest.param("propose_command", {"argv": ["true"], "cwd": "/"}, id="cwd-absolute"),
        pytest.param("propose_command", {"argv": ["true"], "env": {"LD_PRELOAD": "/x"}}, id="preload"),
        pytest.param("propose_command", {"argv": ["echo", "ghp_" + "a1B2" * 9]}, id="a-secret-in-argv"),
        pytest.param("read", {"path": "../../etc/passwd"}, id="read-outside"),
        pytest.param("read", {"path": "../"}, id="list-outside"),
        pytest.param("read", {"path": ".git/config"}, id="read-git"),
        pytest.param("ask", {"question": "  "}, id="no-question"),
        pytest.param("wait", {"id": "a99"}, id="no-such-action"),
        pytest.param("repo.apply_patch", {"patch": GREET}, id="a-tool-of-another-table"),
    ],
)
def test_what_is_refused_becomes_no_action(desk: OpenRun, tool: str, given: dict[str, Any]) -> None:
    with pytest.raises((Invalid, NotFound, DeniedByPolicy)):
        call_run_tool(desk, tool, given)

    assert desk.view().actions == {}
    assert (desk.view().questions, desk.view().odd) == ({}, ())


def test_what_was_tried_and_refused_stands_in_the_log(desk: OpenRun) -> None:
    with pytest.raises(Invalid):
        call_run_tool(desk, "propose_patch", {"patch": new_file("../outside")})

    *_, last = desk.log.read()
    assert (last.kind, last.body["action"]) == ("action.rejected", "propose_patch")


def test_who_never_stops_asking_is_stopped(desk: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitnexus.runs.actions.ask.MOST_WAITING", 2)
    for _ in range(2):
        call_run_tool(desk, "propose_command", {"argv": ["true"]})
    with pytest.raises(Busy):
        call_run_tool(desk, "propose_command", {"argv": ["true"]})
    monkeypatch.setattr(tools, "MOST_EVENTS", 1)
    with pytest.raises(Busy):
        call_run_tool(desk, "read", {})


def test_an_ended_run_takes_no_proposals(desk: OpenRun) -> None:
    desk.log.append("run.finished", "nexus", {"ok": True})

    for tool, given in (("propose_patch", {"patch": GREET}), ("ask", {"question": "still?"})):
        with pytest.raises(Conflict):
            call_run_tool(desk, tool, given)
    assert desk.view().actions == {}


def test_a_command_that_was_begun_and_not_seen_to_end_needs_a_new_yes_with_a_token_of_its_own(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_command", {"argv": ["true"]})
    approve_killed_midway(desk, "a1")
    unknown = desk.view().actions["a1"].status
    approve_action(desk, "a1")

    assert (unknown, desk.view().actions["a1"].status) == ("unknown", "executed")
    assert len(desk.view().nonces) == kinds(desk).count("permission.granted") == 2
    assert desk.view().odd == ()


def approve_killed_midway(desk: OpenRun, action: str) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
        patched.setattr("gitnexus.runs.actions.execute._perform_request", killed)
        approve_action(desk, action)


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        pytest.param(["denied Ann"], ["a1"], id="denied"),
        pytest.param(["denied Ann", "executed Ann"], [], id="denied-then-done-otherwise"),
        pytest.param(["executed Ann", "denied Ann"], ["a2"], id="done-then-denied"),
        pytest.param(["denied "], [], id="given-up-by-its-agent"),
    ],
)
def test_a_run_fails_by_a_denied_patch_only_if_nothing_was_done_instead(rows: list[str], left: list[str]) -> None:
    actions = {}
    for at, row in enumerate(rows, 1):
        status, by = row.split(" ")
        actions[f"a{at}"] = ActionView(kind="patch", summary="", digest="", status=status, by=by)  # type: ignore[arg-type]

    assert denied_patches(RunView(actions=actions)) == left
