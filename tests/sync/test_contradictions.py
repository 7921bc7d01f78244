"""Two clones that decide otherwise about one action before they meet."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus
from tests.sync.conftest import cloned
from tests.sync.two import Clone


@pytest.mark.parametrize("no", ["deny", pytest.param("cancel", marks=pytest.mark.slow)])
def test_a_yes_here_and_a_no_there_are_told_in_both_and_the_no_holds_until_somebody_settles_it(
    ada: Clone, bob: Clone, no: str
) -> None:
    here, there = Nexus(ada.place), Nexus(bob.place)
    run = json.loads(here("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    there.ok(no, run)
    bob.sync()
    here.ok("approve", run, "--unseen")

    told_here = ada.sync().said
    told_there = bob.sync().said

    assert [f"a1 of {run} is approved here by" in line for line in told_here] == [True]
    assert any(f"a1 of {run} is {'denied' if no == 'deny' else 'cancelled'} here by" in line for line in told_there)
    for nexus in (here, there):
        assert "decision.contradicted" in nexus.ok("replay", run, "--json")
        assert "contradicted" in nexus.ok("runs")
    refused = here("land", run)
    assert (refused.returncode, "settles it" in refused.stderr) == (23, True)
    if no == "deny":
        here.ok("approve", run, "a1")
        assert f"{run} is on main" in here.ok("land", run)
    else:
        here.ok("deny", run, "a1")
        assert "failed" in here("land", run).stderr


def test_a_run_that_landed_before_the_no_of_another_clone_came_is_shown_until_that_is_settled(
    ada: Clone, bob: Clone
) -> None:
    here, there = Nexus(ada.place), Nexus(bob.place)
    run = json.loads(here("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    here.ok("approve", run, "--unseen")
    here.ok("land", run)
    assert run not in here.ok("runs")
    there.ok("deny", run)
    for clone in (bob, ada, bob):
        clone.sync()

    shown = here.ok("runs")

    assert (run in shown, "contradicted" in shown) == (True, True)
    here.ok("approve", run, "a1")
    assert run not in here.ok("runs")


@pytest.mark.slow
def test_a_no_that_was_put_away_and_a_yes_that_landed_elsewhere_are_told_in_both(ada: Clone, bob: Clone) -> None:
    here, there = Nexus(ada.place), Nexus(bob.place)
    run = json.loads(here("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    here.ok("deny", run)
    here.ok("clean", run)
    there.ok("approve", run, "--unseen")
    there.ok("land", run)

    for clone in (bob, ada, bob, ada, bob):
        clone.sync()

    for nexus in (here, there):
        (row,) = json.loads(nexus.ok("runs", "--all", "--json"))["runs"]
        assert row["disputed"] is True
        assert "decision.contradicted" in nexus.ok("replay", run, "--json")
    assert ada.tree == bob.tree
    assert ada.sync().pushed == bob.sync().pushed == []


@pytest.mark.slow
def test_a_run_approved_in_two_clones_and_landed_in_the_other_comes_to_rest(ada: Clone, bob: Clone) -> None:
    here, there = Nexus(ada.place), Nexus(bob.place)
    run = json.loads(here("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    ada.sync()
    bob.sync()
    here.ok("approve", run, "--unseen")
    there.ok("approve", run, "--unseen")
    there.ok("land", run)

    for clone in (ada, bob, ada, bob):
        clone.sync()

    assert ada.tree == bob.tree
    assert ada.sync().pushed == bob.sync().pushed == ada.sync().pulled == []
    assert json.loads(there.ok("runs", "--all", "--json"))["runs"][0]["status"] == "landed"


@pytest.mark.slow
def test_a_third_clone_that_said_yes_with_one_of_them_is_told_of_the_no(ada: Clone, bob: Clone, hub: Path) -> None:
    cyd = cloned(hub, "cyd")
    here, there, third = Nexus(ada.place), Nexus(bob.place), Nexus(cyd.place)
    run = json.loads(here("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"]
    for clone in (ada, bob, cyd):
        clone.sync()
    here.ok("approve", run, "--unseen")
    there.ok("deny", run)
    third.ok("approve", run, "--unseen")

    for clone in (ada, bob, ada, cyd, ada, bob, cyd):
        clone.sync()

    for nexus in (here, there, third):
        assert "decision.contradicted" in nexus.ok("replay", run, "--json")
    assert third("land", run).returncode == 23
    here.ok("approve", run, "a1")
    for clone in (ada, bob, cyd, ada):
        clone.sync()
    assert [json.loads(nexus.ok("runs", "--all", "--json"))["runs"][0]["disputed"] for nexus in (here, third)] == [
        False,
        False,
    ]
    assert f"{run} is on main" in here.ok("land", run)
