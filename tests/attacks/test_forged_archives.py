"""A pusher writes the archive of a month: it proves no more than a run's own ref does, and takes nothing away."""

from pathlib import Path

import pytest

from tests.attacks.machines import Machine
from tests.attacks.test_forged_history import CANCELLED, forge, waiting  # noqa: F401 (a fixture)
from tests.conftest import run_git


def archive_of(run: str) -> str:
    return f"refs/nexus/archive/20{run[:2]}-{run[2:4]}"


def tree_in(place: Path, name: str) -> str:
    return run_git(place, "rev-parse", name if ":" in name else f"{name}^{{tree}}").strip()


def forge_archive(hub: Path, run: str, trees: dict[str, str], *parents: str) -> str:
    """Put an archive of these logs on the server that says to go on from its parents; return its commit."""
    rows = "".join(f"040000 tree {tree}\t{name}\n" for name, tree in trees.items())
    tree = run_git(hub, "mktree", stdin=rows).strip()
    words = [word for parent in parents for word in ("-p", parent)]
    commit = run_git(hub, "commit-tree", *words, "-m", "archive", tree).strip()
    run_git(hub, "update-ref", archive_of(run), commit)
    return commit


@pytest.fixture
def archived(ada: Machine) -> str:
    """A run of Ada's that she cancelled and put away, with its log in the archive on the server."""

    def act() -> str:
        run = str(ada.json("run", "--", "sh", "-c", "echo one > one.txt")["run"]["id"])
        ada.ok("cancel", run)
        ada.ok("clean", run)
        ada.sync()
        return run

    return ada.step("archived run", act)


@pytest.mark.slow
def test_an_archive_that_goes_on_from_ours_drops_and_replaces_nothing_of_it(
    ada: Machine, mallory: Machine, hub: Path, archived: str
) -> None:
    ref = archive_of(archived)
    ours = tree_in(ada.place, f"{ref}:{archived}")
    other = mallory.json("run", "--", "sh", "-c", "echo evil > evil.txt")["run"]["id"]
    mallory.sync()
    forged = tree_in(hub, f"refs/nexus/runs/{other}")
    forge_archive(hub, archived, {archived: forged}, ref)

    ada.sync()

    assert tree_in(ada.place, f"{ref}:{archived}") == ours
    assert tree_in(hub, f"{ref}:{archived}") == ours


def test_what_is_claimed_after_a_fact_is_not_taken_in_from_an_archive(
    ada: Machine,
    hub: Path,
    waiting: str,  # noqa: F811
) -> None:
    forge(hub, waiting, CANCELLED)
    forge_archive(hub, waiting, {waiting: tree_in(hub, f"refs/nexus/runs/{waiting}")})
    run_git(hub, "update-ref", "-d", f"refs/nexus/runs/{waiting}")
    carol = Machine(hub, "carol")
    carol.consent()

    said = carol.sync().said

    assert any("are only claimed" in words for words in said), said
    assert run_git(carol.place, "ls-tree", "--name-only", archive_of(waiting)) == ""


def test_a_log_counts_as_archived_only_where_an_archive_holds_it(
    ada: Machine,
    hub: Path,
    waiting: str,  # noqa: F811
) -> None:
    tip = run_git(hub, "rev-parse", f"refs/nexus/runs/{waiting}").strip()
    forge_archive(hub, waiting, {}, tip)
    carol = Machine(hub, "carol")
    carol.consent()

    carol.sync()

    assert [row["run"]["id"] for row in carol.json("review")["runs"]] == [waiting]
    assert run_git(hub, "rev-parse", f"refs/nexus/runs/{waiting}").strip() == tip


@pytest.mark.slow
def test_what_nobody_known_signed_is_claimed_in_an_archive_too(ada: Machine, mallory: Machine) -> None:
    mallory.sync()
    run = str(mallory.json("run", "--", "sh", "-c", "echo evil > evil.txt")["run"]["id"])
    mallory.ok("deny", run)
    mallory.ok("clean", run)
    mallory.sync()

    ada.sync()

    total = ada.json("metrics")["total"]
    assert (total["approvals"]["denied"], total["failed"], total["claimed"]) == (0, 0, 2)
    (row,) = ada.json("runs", "--all")["runs"]
    assert (row["claimed"], row["statusClaimed"]) == (True, True)


@pytest.mark.slow
def test_a_signed_end_in_an_archive_is_a_fact_for_a_colleague(ada: Machine, hub: Path, archived: str) -> None:
    carol = Machine(hub, "carol")
    carol.consent()
    carol.sync()

    (row,) = carol.json("runs", "--all")["runs"]

    assert (row["status"], row["statusClaimed"], row["claimed"]) == ("cancelled", False, False)
    assert carol.json("runs")["runs"] == []
