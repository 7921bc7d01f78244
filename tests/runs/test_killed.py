"""Killed at any moment and gone on with, a run comes to the same as one that nobody disturbed."""

import random
from pathlib import Path

import pytest

from tests.conftest import Nexus
from tests.runs.live import disturbed, undisturbed, untouched


@pytest.mark.slow
def test_a_run_killed_at_twelve_moments_ends_as_one_that_was_not(nexus: Nexus, project: Path) -> None:
    mine = untouched(project)
    usual = undisturbed(nexus)
    chance = random.Random(20)

    outcomes = [disturbed(nexus, usual, chance) for _ in range(3)]

    assert outcomes == [(usual.outcome, usual.landed)] * 3
    assert untouched(project) == mine
