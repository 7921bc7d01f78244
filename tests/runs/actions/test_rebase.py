"""A patch that waits while the branch moves is proposed anew or given up, and a rule that is gone allows nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.base.errors import Conflict
from gitnexus.runs.actions import ask
from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.actions.propose import propose_worktree_changes
from gitnexus.runs.actions.rebase import rebase_waiting_patch
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.runs.open_run import OpenRun
from tests.conftest import Nexus, run_git, trust
from tests.runs.agent.test_agent_at_work import propose, written
from tests.runs.begun import begun, patch_of
from tests.runs.live import ASKED, commits, listed, typed

GREET = patch_of("readme.txt", "hello", "goodbye")


@pytest.fixture
def desk(project: Path) -> Iterator[OpenRun]:
    with begun(project) as found:
        yield found


def told(desk: OpenRun) -> list[tuple[str, str]]:
    return [(name, one.status) for name, one in desk.view().actions.items()]


def test_a_patch_of_the_files_is_proposed_anew_after_another_was_approved(desk: OpenRun, project: Path) -> None:
    call_run_tool(desk, "propose_patch", {"patch": GREET})
    (desk.worktree_path / "new.txt").write_text("new\n")
    propose_worktree_changes(desk, "the files", "main")
    approve_action(desk, "a1")

    with pytest.raises(Conflict) as refused:
        approve_action(desk, "a2")
    anew = rebase_waiting_patch(desk, "a2")
    approve_action(desk, "a3")

    assert (anew, f"git nexus resume {desk.record.id} proposes it again" in str(refused.value.hint)) == ("a3", True)
    assert told(desk) == [("a1", "executed"), ("a2", "denied"), ("a3", "executed")]
    assert run_git(project, "show", f"{desk.branch}:readme.txt", f"{desk.branch}:new.txt") == "goodbye\nnew\n"
    assert desk.view().odd == ()


def test_where_it_does_not_fit_the_files_say_what_is_left(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_patch", {"patch": GREET})
    (desk.worktree_path / "readme.txt").write_text("hello\nmore\n")
    propose_worktree_changes(desk, "the files", "main")
    approve_action(desk, "a1")

    assert rebase_waiting_patch(desk, "a2") == "a3"
    approve_action(desk, "a3")
    assert (desk.worktree_path / "readme.txt").read_text() == "hello\nmore\n"


def test_what_fits_no_more_is_given_up_with_the_reason(desk: OpenRun) -> None:
    call_run_tool(desk, "propose_patch", {"patch": GREET})
    (desk.worktree_path / "readme.txt").write_text("goodbye\n")
    (desk.worktree_path / "more.txt").write_text("more\n")
    propose_worktree_changes(desk, "the files", "main")
    approve_action(desk, "a2")

    assert rebase_waiting_patch(desk, "a1") is None
    assert desk.view().actions["a1"].why.startswith("the branch moved since")


@pytest.mark.slow
def test_at_a_terminal_the_second_card_is_the_new_one(nexus: Nexus, project: Path) -> None:
    written(project, propose("propose_patch", patch=GREET), {"do": "write", "path": "new.txt", "text": "x\n"})

    status, shown = typed(project, "y\ny", "git-nexus", "run", "--agent", "scripted", "steps.json")

    (run,) = listed(nexus)
    assert status == 0, shown
    assert "a3 is proposed instead of a2" in shown
    assert (len(commits(project, run)), listed(nexus)[run]["status"]) == (2, "completed")


def test_what_a_rule_allowed_waits_once_the_rule_is_gone(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nexus.ok("policy", "add", "allow", "--name", "gone", "--write", "readme.txt")
    trust(project)
    monkeypatch.setattr(ask, "_execute_if_allowed", lambda desk, action: action)  # killed before it was done
    with begun(project) as desk:
        run = desk.record.id
        call_run_tool(desk, "propose_patch", {"patch": GREET})
        before = desk.view().actions["a1"].status
    nexus.ok("policy", "remove", "project.gone")
    trust(project)

    stopped = listed(nexus)[run]["status"]
    resumed = nexus("resume", run)
    waits = listed(nexus)[run]
    nexus.ok("approve", "--unseen", run)

    assert (before, stopped, resumed.returncode) == ("approved", "stopped", ASKED)
    assert (waits["status"], waits["waits"]) == ("waiting", "1 waiting")
    assert listed(nexus)[run]["status"] == "completed"
    assert len(commits(project, run)) == 1
    nexus.ok("replay", "--verify", run)


def test_a_command_that_was_begun_by_who_was_killed_waits_for_a_person(nexus: Nexus, project: Path) -> None:
    with begun(project) as desk:
        run = desk.record.id
        call_run_tool(desk, "propose_command", {"argv": ["true"]})
        of = desk.view().actions["a1"].digest
        desk.log.append("permission.granted", "gate", {"action": "a1", "digest": of, "by": "me", "scope": "once"})
        desk.log.append("tool.intended", "gate", {"action": "a1", "tool": "cmd.run", "digest": of})

    resumed = nexus("resume", run)

    assert (resumed.returncode, listed(nexus)[run]["status"]) == (ASKED, "waiting")
    nexus.ok("approve", "--unseen", run)
    assert listed(nexus)[run]["status"] == "completed"
