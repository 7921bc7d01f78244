"""Eighty moments over the whole life of a run, from its start to its landing, and a kill at each."""

from pathlib import Path

import pytest

from tests.conftest import Nexus
from tests.runs.live import disturbed, undisturbed, untouched
from tests.seeds import chance_of


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("part", range(4))
def test_runs_killed_at_twenty_moments_end_as_one_that_was_not(nexus: Nexus, project: Path, part: int) -> None:
    mine = untouched(project)
    usual = undisturbed(nexus)
    chance = chance_of(part)

    outcomes = [disturbed(nexus, usual, chance) for _ in range(5)]

    assert outcomes == [(usual.outcome, usual.landed)] * 5
    assert untouched(project) == mine
