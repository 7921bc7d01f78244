"""A run that was killed before its log reached its ref is published by the next sync as it stands."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.killing import install_killing_git
from tests.sync.two import Clone


def statuses_in(clone: Clone) -> dict[str, str]:
    """Return the status of each run; that a process is dead is known in its own clone alone."""
    rows = json.loads(Nexus(clone.place).ok("runs", "--all", "--json"))["runs"]
    return {row["id"]: "running" if row["status"] == "stopped" else row["status"] for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("calls", [2, pytest.param(99, marks=pytest.mark.slow(seconds=45), id="all")])
def test_all_clones_see_a_run_alike_that_was_killed_at_one_of_its_last_calls_of_git(
    ada: Clone, bob: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    git = install_killing_git(tmp_path / "killing", monkeypatch)
    argv = ("run", "--json", "--", "sh", "-c", "echo made > made.txt")
    git.kill(ada.place, *argv)
    last = git.calls
    for call in range(max(1, last - calls + 1), last + 1):
        git.kill(ada.place, *argv, at=call)
    git.kill(ada.place, "status")  # and from here on git kills nobody

    ada.sync()
    bob.sync()

    assert "waiting" in statuses_in(ada).values()
    assert statuses_in(bob) == statuses_in(ada)


def test_a_record_that_a_killed_cancel_did_not_reach_follows_its_log_in_every_clone(ada: Clone, bob: Clone) -> None:
    nexus = Nexus(ada.place)
    run = json.loads(nexus("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    before = ada.read(f"runs/{run}.json")
    nexus.ok("cancel", run)
    ada.write({f"runs/{run}.json": before})  # as a kill after the log was written leaves it

    for clone in (ada, bob, ada, bob):
        clone.sync()

    assert statuses_in(ada) == statuses_in(bob) == {run: "cancelled"}
    assert ada.tree == bob.tree


def test_a_worktree_whose_making_was_killed_by_an_older_version_is_in_no_fetch_s_way(ada: Clone, bob: Clone) -> None:
    nexus = Nexus(ada.place)
    run = json.loads(nexus("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    (ada.place / ".git" / "worktrees" / run / "HEAD").write_text(f"{'0' * 40}\n")
    bob.add(1, "one")
    bob.sync()

    ada.sync()

    assert ada.task(1)["title"] == "one"
    assert run_git(ada.place, "fsck", "--no-dangling", "--no-progress") == ""
