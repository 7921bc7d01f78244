"""Runs that are put away in one clone while another has them, too."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.sync.test_put_away import MAKE, completed, of_run, refs
from tests.sync.two import Clone


@pytest.mark.slow(seconds=8)
def test_completed_work_that_was_put_away_by_name_is_told_held_and_lands_all_the_same(ada: Clone, bob: Clone) -> None:
    run = completed(ada)
    (ada.place / "notes.txt").write_text("mine\n")
    ada.sync()

    told = Nexus(ada.place).ok("clean", run)

    assert f"it has not landed; git nexus land {run} still lands it" in told
    assert f"refs/nexus/rescue/{run}" in refs(ada.place)
    ada.sync()
    bob.sync()
    for clone in (bob, ada):
        assert f"{run} is on main" in Nexus(clone.place).ok("land", run)
        assert (clone.place / "made.txt").read_text() == "made\n"


@pytest.mark.slow(seconds=8)
def test_work_that_nothing_here_holds_is_looked_for_elsewhere(ada: Clone) -> None:
    run = completed(ada)
    nexus = Nexus(ada.place)
    nexus.ok("clean", run)
    for ref in (*refs(ada.place, "refs/nexus/rescue"), *refs(ada.place, "refs/nexus/archive")):
        run_git(ada.place, "update-ref", "-d", ref)
    run_git(ada.place, "reflog", "expire", "--expire=all", "--all")
    run_git(ada.place, "gc", "-q", "--prune=now")

    refused = nexus("land", run)

    assert (refused.returncode, "refs/nexus/rescue" in refused.stderr) == (4, False)
    assert "git nexus sync" in refused.stderr


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("landed", [True, False])
def test_what_one_put_away_comes_back_in_no_clone_and_its_refs_go_everywhere(
    ada: Clone, bob: Clone, hub: Path, landed: bool
) -> None:
    run = completed(ada)
    ada.sync()
    bob.sync()
    run_git(bob.place, "fetch", "-q")
    assert len(of_run(bob.place, run)) > 1
    if landed:
        Nexus(ada.place).ok("land", run)
    Nexus(ada.place).ok("clean", run)

    for clone in (ada, bob, ada, bob):
        last = clone.sync()

    assert (last.pulled, last.pushed, last.said) == ([], [], [])
    assert of_run(hub, run) == of_run(bob.place, run) == []
    assert of_run(ada.place, run) == ([] if landed else [f"refs/nexus/rescue/{run}"])
    assert "Nothing to clean" in Nexus(ada.place).ok("clean")
    assert "Nothing to clean" in Nexus(bob.place).ok("clean")


@pytest.mark.slow(seconds=8)
def test_what_is_at_work_in_another_clone_stays_there_until_that_puts_it_away(ada: Clone, bob: Clone) -> None:
    nexus = Nexus(ada.place)
    run = json.loads(nexus("run", "--json", *MAKE[1:]).stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    Nexus(bob.place).ok("approve", run, "--unseen")  # makes a worktree there
    bob.sync()
    ada.sync()
    Nexus(ada.place).ok("clean", run)
    ada.sync()

    for clone in (bob, ada, bob):
        last = clone.sync()

    assert (last.pulled, last.pushed, last.said) == ([], [], [])
    assert f"refs/heads/nexus/{run}" in refs(bob.place)
    Nexus(bob.place).ok("clean", run)
    bob.sync()
    assert set(of_run(bob.place, run)) <= {f"refs/nexus/rescue/{run}"}
