"""An approval that was killed in its last quarter: whatever command comes next finishes what was begun."""

from pathlib import Path

import pytest

from gitnexus.app import open_nexus
from gitnexus.runs.actions import approve, execute_patch
from gitnexus.runs.open_run import open_run
from tests.conftest import Nexus, run_git
from tests.runs.live import begun, events, record


class Killed(Exception):
    """What stands for a kill."""


def _kill(*_: object, **__: object) -> None:
    raise Killed


def approve_until(project: Path, run: str, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Approve a run's patch, and be killed at a step of `execute_patch`, empty for after all of them."""
    nexus = open_nexus(project)
    try:
        if step:
            with monkeypatch.context() as patch, pytest.raises(Killed):
                patch.setattr(execute_patch, step, _kill)
                approve.approve_action(open_run(nexus.state, run), "a1")
        else:
            approve.approve_action(open_run(nexus.state, run), "a1")
    finally:
        nexus.close()


@pytest.mark.parametrize("step", ["commit_patch", "update_worktree_files", ""])
def test_land_finishes_an_approval_that_was_killed(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    run = begun(nexus)
    approve_until(project, run, monkeypatch, step)

    assert f"{run} is on" in nexus.ok("land", run)

    assert len(events(project, run, "run.committed")) == len(events(project, run, "run.finished")) == 1
    assert record(project, run)["status"] == "landed"


def test_a_no_after_a_yes_whose_commit_is_there_fails_and_the_log_tells_the_commit(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(nexus)
    approve_until(project, run, monkeypatch, "update_worktree_files")

    refused = nexus("deny", run, "a1")

    assert (refused.returncode, "came too late" in refused.stderr) == (23, True)
    assert events(project, run, "permission.denied") == []
    assert len(events(project, run, "run.committed")) == 1
    assert record(project, run)["status"] == "completed"
    assert run_git(project, "rev-parse", f"nexus/{run}").strip() == record(project, run)["head"]


@pytest.mark.parametrize("command", [("review",), ("diff",), ("clean", "--force"), ("pr", "--print")])
@pytest.mark.parametrize("step", ["update_worktree_files", ""])
def test_every_command_about_the_run_finishes_an_approval_that_was_killed(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], step: str
) -> None:
    run = begun(nexus)
    approve_until(project, run, monkeypatch, step)
    commit = run_git(project, "rev-parse", f"nexus/{run}").strip()

    nexus(command[0], run, *command[1:])

    assert (record(project, run)["status"], record(project, run)["head"]) == ("completed", commit)


def test_a_list_tells_the_true_state_of_a_killed_approval_and_names_what_finishes_it(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(nexus)
    approve_until(project, run, monkeypatch, "update_worktree_files")

    shown = nexus.ok("status")

    assert "stopped" in nexus.ok("runs")
    assert "git nexus resume RUN continues it" in shown
    nexus.ok("review", run)
    assert "completed" in nexus.ok("runs")


@pytest.mark.parametrize(("first", "second"), [("approve_action", "deny"), ("deny_action", "approve")])
def test_who_comes_second_fails_before_the_first_has_ended_the_run(
    nexus: Nexus, project: Path, first: str, second: str
) -> None:
    run = begun(nexus)
    here = open_nexus(project)
    try:
        getattr(approve, first)(open_run(here.state, run), "a1", *(("no",) if first == "deny_action" else ()))
    finally:
        here.close()

    refused = nexus(second, run)

    words = "came too late" if second == "deny" else "is denied and cannot be approved"
    assert (refused.returncode, words in refused.stderr) == (23, True), refused.stderr
    assert record(project, run)["status"] == ("completed" if second == "deny" else "failed")
