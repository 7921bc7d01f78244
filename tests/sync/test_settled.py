"""What a person settled in one clone is settled in the other after they synced."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.live import events
from tests.sync.conftest import cloned
from tests.sync.two import Clone


@pytest.mark.slow
def test_a_yes_that_settles_it_travels_by_sync(ada: Clone, bob: Clone, disputed: str) -> None:
    Nexus(ada.place).ok("approve", disputed, "a1")
    ada.sync()
    bob.sync()

    settled = events(bob.place, disputed, "decision.settled")
    assert [(body["action"], body["how"], body["by"]) for body in settled] == [("a1", "approved", "Test Person")]
    assert ada.sync().said == bob.sync().said == []
    assert len(events(ada.place, disputed, "decision.settled")) == 1


def test_a_no_that_settles_it_travels_by_sync_and_keeps_it_from_landing(ada: Clone, bob: Clone, disputed: str) -> None:
    Nexus(bob.place).ok("deny", disputed, "a1")
    bob.sync()
    ada.sync()

    refused = Nexus(ada.place)("land", disputed)

    assert (refused.returncode, f"{disputed} is failed" in refused.stderr) == (1, True), refused.stderr
    assert [body["how"] for body in events(ada.place, disputed, "decision.settled")] == ["denied"]


@pytest.mark.slow
def test_two_that_settle_it_otherwise_at_once_leave_it_open_until_one_of_them_settles_it(
    ada: Clone, bob: Clone, disputed: str
) -> None:
    Nexus(ada.place).ok("approve", disputed, "a1")
    Nexus(bob.place).ok("deny", disputed, "a1")
    ada.sync()

    told = bob.sync().said

    assert any(f"a1 of {disputed} is settled as denied here and as approved elsewhere" in line for line in told)
    Nexus(bob.place).ok("deny", disputed, "a1")
    bob.sync()
    ada.sync()
    ada.sync()
    assert Nexus(ada.place)("land", disputed).returncode != 0


@pytest.mark.parametrize("command", ["runs", "review", "pr"])
def test_every_command_that_shows_a_run_shows_the_contradiction(
    ada: Clone, bob: Clone, disputed: str, command: str
) -> None:
    for clone in (ada, bob):
        nexus = Nexus(clone.place)
        if command == "runs":
            (row,) = json.loads(nexus.ok("runs", "--all", "--json"))["runs"]
            assert row["disputed"] is True
            assert "contradicted" in nexus.ok("runs", "--all")
        elif command == "review":
            shown = nexus("review", disputed)
            assert "a1 is" in shown.stdout
            assert "settles it" in shown.stdout
            assert [*json.loads(nexus("review", disputed, "--json").stdout)["runs"][0]["disputed"]] == ["a1"]
        else:
            refused = nexus("pr", disputed, "--print")
            assert (refused.returncode, "settles it" in refused.stderr) == (23, True)


def test_the_logs_of_both_are_on_the_server(ada: Clone, bob: Clone, hub: object, disputed: str) -> None:
    ref = f"refs/nexus/runs/{disputed}"
    bob.sync()
    ada.sync()

    for clone in (ada, bob):
        tip = run_git(clone.place, "rev-parse", ref).strip()
        run_git(hub, "merge-base", "--is-ancestor", tip, ref)  # type: ignore[arg-type]


def test_what_was_settled_as_approved_lands_in_a_third_clone_that_knew_of_the_no(
    ada: Clone, bob: Clone, hub: Path, disputed: str
) -> None:
    cleo = cloned(hub, "cleo")
    nexus = Nexus(cleo.place)
    cleo.sync()
    nexus("review", disputed)  # brings the log of the no to this machine
    Nexus(ada.place).ok("approve", disputed, "a1")
    for clone in (ada, bob, ada, cleo):
        clone.sync()

    for clone in (ada, bob, cleo):
        (row,) = json.loads(Nexus(clone.place).ok("runs", "--all", "--json"))["runs"]
        assert row["status"] == "completed"
    assert f"{disputed} is on main" in nexus.ok("land", disputed)
    assert (cleo.sync().said, ada.sync().said, bob.sync().said) == ([], [], [])


def test_a_worktree_whose_branch_a_sync_moved_on_leaves_no_rescue_ref(ada: Clone, bob: Clone, disputed: str) -> None:
    Nexus(ada.place).ok("approve", disputed, "a1")
    for clone in (ada, bob, ada):
        clone.sync()
    Nexus(ada.place).ok("land", disputed)
    run_git(ada.place, "push", "-q", "origin", "main")
    ada.sync()
    run_git(bob.place, "pull", "-q")
    bob.sync()

    said = Nexus(bob.place).ok("clean")

    assert "it is in refs/heads/main" in said and "refs/nexus/rescue" not in said, said
    assert run_git(bob.place, "for-each-ref", "refs/nexus/rescue") == ""
