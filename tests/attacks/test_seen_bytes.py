"""Whatever an agent proposes: the text that a person saw before the yes holds every byte of it, or there was no yes."""

import random
from pathlib import Path

import pytest

from tests.attacks.hostile_actions import hostile, refuse_unseen


def approvals(project: Path, patch: pytest.MonkeyPatch, seed: int, count: int) -> int:
    chance = random.Random(seed)
    return sum(refuse_unseen(hostile(chance, project), chance, project, patch) for _ in range(count))


def test_no_byte_is_approved_unseen(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < approvals(project, monkeypatch, 18, 30) < 30


@pytest.mark.slow
def test_no_byte_of_ten_thousand_hostile_actions_is_approved_unseen(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < approvals(project, monkeypatch, 4, 10_000) < 10_000
