"""Whatever an agent proposes: the text that a person saw before the yes holds every byte of it, or there was no yes."""

import random
from pathlib import Path

import pytest

from tests.attacks.hostile_actions import hostile, refuse_unseen
from tests.seeds import chance_of


def approvals(project: Path, patch: pytest.MonkeyPatch, chance: random.Random, count: int) -> int:
    return sum(refuse_unseen(hostile(chance, project), chance, project, patch) for _ in range(count))


def test_no_byte_is_approved_unseen(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < approvals(project, monkeypatch, random.Random(18), 30) < 30


@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize("part", range(10))
def test_no_byte_of_ten_thousand_hostile_actions_is_approved_unseen(
    project: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    assert 0 < approvals(project, monkeypatch, chance_of(part), 1_000) < 1_000
