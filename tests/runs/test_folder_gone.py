"""A run whose folder is gone goes on from its ref, through every command about it."""

import os
import shutil
from pathlib import Path

import pytest

from gitnexus.base.files import remove_tree
from tests.conftest import Nexus, run_git
from tests.rows import few_fast
from tests.runs.live import approved, begun, folder, record


@pytest.mark.parametrize("command", few_fast(["resume", "approve", "deny", "review", "diff", "replay"], 2))
def test_a_waiting_run_whose_folder_is_gone_goes_on_from_its_ref(nexus: Nexus, project: Path, command: str) -> None:
    run = begun(nexus)
    forget_folder(project, run)

    nexus(command, run, *(["--unseen"] if command == "approve" else []))
    if command not in ("approve", "deny"):
        nexus.ok("approve", run, "--unseen")

    assert record(project, run)["status"] == ("failed" if command == "deny" else "completed")
    nexus.ok("replay", run, "--verify")
    if command != "deny":
        assert f"{run} is on main" in nexus.ok("land", run)


@pytest.mark.parametrize("command", ["land", "replay"])
def test_a_completed_run_whose_folder_is_gone_is_landed_and_told(nexus: Nexus, project: Path, command: str) -> None:
    run = approved(nexus)
    forget_folder(project, run)

    nexus.ok(command, run, *(["--verify"] if command == "replay" else []))

    assert f"{run}" in nexus.ok("land", run)
    assert run_git(project, "show", "HEAD:readme.txt").endswith("more\n")


def forget_folder(project: Path, run: str) -> None:
    """Remove the folder with a run's log, as a lost disk or a careless hand does."""
    shutil.rmtree(folder(project, run))


def test_a_run_whose_worktree_git_does_not_know_is_resumed(nexus: Nexus, project: Path) -> None:
    run = begun(nexus)
    (git_file,) = Path(os.environ["NEXUS_HOME"], "worktrees").glob(f"*/{run}/.git")
    for path in [one for one in git_file.parent.iterdir() if one != git_file]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(project / ".git" / "worktrees" / run)

    nexus("resume", run)
    nexus.ok("approve", run, "--unseen")

    assert record(project, run)["status"] == "completed"
    assert f"{run} is on main" in nexus.ok("land", run)


@pytest.mark.parametrize("emptied", ["all", ".git", "new"])
def test_a_run_whose_worktree_a_power_cut_emptied_is_resumed_and_loses_nothing(
    nexus: Nexus, project: Path, emptied: str
) -> None:
    run = begun(nexus)
    (git_file,) = Path(os.environ["NEXUS_HOME"], "worktrees").glob(f"*/{run}/.git")
    admin = project / ".git" / "worktrees" / run
    if emptied == "new":
        remove_tree(git_file.parent)
        git_file.parent.mkdir()
        (git_file.parent / "..git.0123abcd.tmp").write_text("")
        remove_tree(admin)
    else:
        (git_file.parent / "by-hand.txt").write_text("not proposed yet\n")
        git_file.write_text("")
        for name in ("HEAD", "commondir", "gitdir", "locked") if emptied == "all" else ():
            (admin / name).write_text("")

    nexus("resume", run)
    nexus.ok("approve", run, "--unseen")

    assert record(project, run)["status"] == "completed"
    assert f"{run} is on main" in nexus.ok("land", run)
    if emptied != "new":
        kept = [*git_file.parent.glob("by-hand.txt"), *folder(project, run).glob("left-*/by-hand.txt")]
        assert [path.read_text() for path in kept] == ["not proposed yet\n"]
