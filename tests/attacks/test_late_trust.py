"""A log that was taken in before its writer was known gives way to the signed one as soon as the writer is."""

from pathlib import Path

import pytest

from tests.attacks.machines import Machine
from tests.attacks.test_forged_history import CANCELLED, forge, status, waiting  # noqa: F401 (a fixture)
from tests.conftest import run_git
from tests.rows import few_fast


def tip(place: Path, run: str) -> str:
    return run_git(place, "rev-parse", f"refs/nexus/runs/{run}").strip()


@pytest.mark.parametrize("opened", few_fast([False, True]), ids=["unopened", "opened"])
def test_a_claimed_tail_gives_way_to_the_signed_log_once_its_writer_is_trusted(
    ada: Machine,
    hub: Path,
    waiting: str,  # noqa: F811
    opened: bool,
) -> None:
    signed = tip(hub, waiting)
    forge(hub, waiting, CANCELLED)
    carol = Machine(hub, "carol")
    carol.sync()
    assert status(carol, waiting) == "cancelled"
    if opened:
        carol.ok("replay", waiting)
    run_git(hub, "update-ref", f"refs/nexus/runs/{waiting}", signed)

    carol.consent()
    said = carol.sync().said

    assert any("takes its place" in line for line in said), said
    assert status(carol, waiting) == "waiting"
    assert "never mind" not in carol.ok("replay", waiting)
    assert tip(hub, waiting) == signed
    ada.ok("approve", "--unseen", waiting)
    ada.sync()
    carol.sync()
    assert status(carol, waiting) == "completed"


@pytest.mark.slow
def test_the_machine_that_began_a_run_publishes_its_log_over_a_claimed_tail(
    ada: Machine,
    hub: Path,
    waiting: str,  # noqa: F811
) -> None:
    carol = Machine(hub, "carol")
    carol.consent()
    carol.sync()
    forge(hub, waiting, CANCELLED)

    ada.sync()
    ada.ok("approve", "--unseen", waiting)
    ada.sync()
    carol.sync()

    assert status(carol, waiting) == "completed"
    assert "never mind" not in carol.ok("replay", waiting)
    assert "committed a1" in carol.ok("replay", waiting)
    assert "[claimed]" not in carol.ok("replay", waiting, "--verify", "--require-signed")
    assert run_git(hub, "rev-parse", f"refs/nexus/runs/{waiting}") == run_git(
        ada.place, "rev-parse", f"refs/nexus/runs/{waiting}"
    )
