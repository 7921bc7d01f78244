"""Runs that are put away in one clone: no work is lost, and clean, sync and the server agree on what is there."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.rows import few_fast
from tests.sync.two import Clone

MAKE = ("run", "--", "sh", "-c", "echo made > made.txt")


def completed(clone: Clone) -> str:
    """Run a command and approve what it made; return the run."""
    nexus = Nexus(clone.place)
    run: str = json.loads(nexus("run", "--json", *MAKE[1:]).stdout)["run"]["id"]
    nexus.ok("approve", run, "--unseen")
    return run


def refs(place: Path, *below: str) -> list[str]:
    return run_git(place, "for-each-ref", "--format=%(refname)", *below).split()


def of_run(place: Path, run: str) -> list[str]:
    return [name for name in refs(place) if run in name]


def test_the_pushed_copy_of_a_run_is_no_proof_that_its_work_is_elsewhere(ada: Clone) -> None:
    nexus, run = Nexus(ada.place), completed(ada)
    ada.sync()
    run_git(ada.place, "fetch", "-q")
    run_git(ada.place, "branch", f"nexus-state-runs/{run}", f"nexus/{run}")
    assert f"refs/remotes/origin/nexus/{run}" in refs(ada.place)

    told = nexus.ok("clean")

    assert f"left as it is: it is not landed yet; git nexus land {run} lands it, git nexus clean {run}" in told
    assert f"refs/heads/nexus/{run}" in refs(ada.place)
    assert f"{run} is on main" in nexus.ok("land", run)


@pytest.mark.slow
def test_the_log_of_a_run_that_was_put_away_can_be_read_in_every_clone(ada: Clone, bob: Clone) -> None:
    run = completed(ada)
    Nexus(ada.place).ok("clean", run)
    ada.sync()
    bob.sync()
    nexus = Nexus(bob.place)

    assert "completed" in nexus.ok("runs", "--all")
    assert "run.finished" in nexus.ok("replay", run, "--json")
    assert "made.txt" in nexus.ok("diff", run)
    nexus.ok("replay", run, "--verify")
    nexus.ok("artifacts", run)


@pytest.mark.slow
def test_what_one_put_away_comes_back_from_no_server_and_leaves_no_ref(ada: Clone, hub: Path) -> None:
    run = completed(ada)
    ada.sync()
    Nexus(ada.place).ok("clean", run)

    ada.sync()
    last = ada.sync()

    assert (last.pulled, last.pushed, last.said) == ([], [], [])
    assert (of_run(hub, run), of_run(ada.place, run)) == ([], [f"refs/nexus/rescue/{run}"])


@pytest.mark.slow
def test_a_run_that_landed_in_another_clone_has_landed_in_the_one_that_began_it(ada: Clone, bob: Clone) -> None:
    run = completed(ada)
    ada.sync()
    bob.sync()
    Nexus(bob.place).ok("land", run, "--rebase")

    for clone in (bob, ada, bob):
        clone.sync()

    for clone in (ada, bob):
        (row,) = json.loads(Nexus(clone.place).ok("runs", "--all", "--json"))["runs"]
        assert row["status"] == "landed"
    Nexus(ada.place).ok("replay", run, "--verify")


@pytest.mark.slow
def test_a_run_that_landed_and_was_put_away_elsewhere_has_landed_here_too(ada: Clone, bob: Clone) -> None:
    run = completed(ada)
    ada.sync()
    bob.sync()
    Nexus(bob.place).ok("land", run, "--rebase")
    Nexus(bob.place).ok("clean", run)

    for clone in (bob, ada, bob):
        clone.sync()

    for clone in (ada, bob):
        (row,) = json.loads(Nexus(clone.place).ok("runs", "--all", "--json"))["runs"]
        assert row["status"] == "landed"
    nexus = Nexus(ada.place)
    nexus.ok("replay", run, "--verify")
    nexus.ok("clean", run)
    assert '"run.landed"' in nexus.ok("replay", run, "--json")
    for clone in (ada, bob, ada, bob):
        last = clone.sync()
    assert (last.pulled, last.pushed, last.said) == ([], [], [])
    assert of_run(ada.place, run) == [f"refs/nexus/rescue/{run}"]
    assert '"run.landed"' in nexus.ok("replay", run, "--json")


def test_a_run_that_was_approved_and_put_away_elsewhere_is_completed_in_the_clone_that_began_it(
    ada: Clone, bob: Clone
) -> None:
    run = json.loads(Nexus(ada.place)("run", "--json", *MAKE[1:]).stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    Nexus(bob.place).ok("approve", run, "--unseen")
    Nexus(bob.place).ok("clean", run)

    for clone in (bob, ada, bob):
        clone.sync()

    for clone in (ada, bob):
        (row,) = json.loads(Nexus(clone.place).ok("runs", "--all", "--json"))["runs"]
        assert row["status"] == json.loads(clone.read(f"runs/{run}.json") or b"{}")["status"] == "completed"
    assert ada.tree == bob.tree


@pytest.mark.slow
def test_a_run_that_was_put_away_and_then_landed_elsewhere_has_landed_in_both(ada: Clone, bob: Clone) -> None:
    run = completed(ada)
    Nexus(ada.place).ok("clean", run)
    ada.sync()
    bob.sync()
    Nexus(bob.place).ok("land", run)

    said = [line for clone in (bob, ada, bob) for line in clone.sync().said]

    assert said == []
    for clone in (ada, bob):
        (row,) = json.loads(Nexus(clone.place).ok("runs", "--all", "--json"))["runs"]
        assert (row["status"], row["claimed"]) == ("landed", False)
        Nexus(clone.place).ok("replay", run, "--verify")
    assert ada.tree == bob.tree


def _put_away_here_and_landed_elsewhere(ada: Clone, bob: Clone, way: str) -> str:
    """Let one put a run away and another land it; return the run."""
    run = completed(ada)
    ada.sync()
    bob.sync()
    Nexus(ada.place).ok("clean", run)
    ada.sync()
    Nexus(bob.place).ok("land", run, way)
    run_git(bob.place, "push", "-q", "origin", "main")
    bob.sync()
    ada.sync()
    return run


@pytest.mark.parametrize("command", few_fast(["land", "pr"]))
def test_a_run_that_was_put_away_here_and_landed_elsewhere_tells_what_became_of_it(
    ada: Clone, bob: Clone, command: str
) -> None:
    run = _put_away_here_and_landed_elsewhere(ada, bob, "--merge")
    landed = run_git(bob.place, "rev-parse", "main").strip()
    nexus = Nexus(ada.place)

    refused = nexus(command, run)

    assert refused.returncode == 4
    words = f"the branch nexus/{run} is gone: {run} has landed on main as {landed[:12]}, which is not here yet"
    assert (words in refused.stderr, "git pull brings it" in refused.stderr) == (True, True), refused.stderr
    run_git(ada.place, "pull", "-q", "origin", "main")
    if command == "land":
        assert f"{run} was on main already" in nexus.ok("land", run)
    else:
        assert f"git branch --all --contains {landed[:12]}" in nexus("pr", run).stderr
    assert "made.txt" in nexus.ok("diff", run)


@pytest.mark.parametrize("way", [pytest.param("--merge", marks=pytest.mark.slow), "--squash"])
def test_a_rescue_ref_goes_once_its_work_is_on_main(ada: Clone, bob: Clone, way: str) -> None:
    run = _put_away_here_and_landed_elsewhere(ada, bob, way)
    nexus, rescue = Nexus(ada.place), f"refs/nexus/rescue/{run}"
    nexus.ok("clean")
    assert rescue in refs(ada.place)
    run_git(ada.place, "pull", "-q", "origin", "main")

    assert f"{rescue}  would be deleted" in nexus.ok("clean", "--dry-run")
    assert rescue in refs(ada.place)
    assert f"{rescue}  deleted: " in nexus.ok("clean")
    assert rescue not in refs(ada.place)


def test_a_rescue_ref_stays_as_long_as_it_holds_what_is_on_no_branch(ada: Clone) -> None:
    nexus = Nexus(ada.place)
    run = completed(ada)
    worktree = next(
        line.split()[1]
        for line in run_git(ada.place, "worktree", "list", "--porcelain").splitlines()
        if line.startswith("worktree ") and run in line
    )
    Path(worktree, "uncommitted.txt").write_text("by hand")
    nexus.ok("land", run)
    nexus.ok("clean", run)

    assert nexus.ok("clean") == "Nothing to clean.\n"
    assert f"refs/nexus/rescue/{run}" in refs(ada.place)


def test_a_run_that_was_put_away_and_did_not_land_names_what_keeps_its_work(ada: Clone) -> None:
    nexus = Nexus(ada.place)
    run = completed(ada)
    nexus.ok("clean", run)

    refused = nexus("pr", run)

    assert f"the branch nexus/{run} is gone: the run is completed, and was cleaned up here" in refused.stderr
    assert f"git branch rescued-{run} refs/nexus/rescue/{run}" in refused.stderr
