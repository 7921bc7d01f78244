"""Two hundred moments over the whole life of a run, from its start to its landing, and a kill at each."""

import random
from pathlib import Path

import pytest

from tests.conftest import Nexus
from tests.runs.live import disturbed, undisturbed, untouched


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_runs_killed_at_twenty_moments_end_as_one_that_was_not(nexus: Nexus, project: Path, seed: int) -> None:
    mine = untouched(project)
    usual = undisturbed(nexus)
    chance = random.Random(seed)

    outcomes = [disturbed(nexus, usual, chance) for _ in range(5)]

    assert outcomes == [(usual.outcome, usual.landed)] * 5
    assert untouched(project) == mine
