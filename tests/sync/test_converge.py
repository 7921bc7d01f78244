"""Three clones, random operations, random meetings: they end alike, and nothing that was acknowledged is missing."""

from pathlib import Path

import pytest

from gitnexus.base.canonical import parse_json
from tests.seeds import chance_of
from tests.sync.scene import Clones


def story(place: Path, seed: int) -> None:
    clones = Clones(place, seed)
    for _ in range(clones.chance.randint(8, 24)):
        clone = clones.chance.randrange(3)
        if clones.chance.random() < 0.7:
            clones.act(clone)
        else:
            clones.meet(clone, clones.chance.choice([one for one in range(3) if one != clone]))
    for clone, other in ((0, 1), (1, 2), (2, 0), (0, 1)):
        clones.meet(clone, other, pushes=True)
    settled(clones, seed)
    clones.state.close()


def settled(clones: Clones, seed: int) -> None:
    assert len({clones.snapshot(clone).tree for clone in range(3)}) == 1, seed
    end = clones.snapshot(0)
    tasks = [parse_json(raw) for raw in end.files("backlog").values()]
    assert sorted(task["uid"] for task in tasks) == sorted(clones.tasks), seed
    assert {task["uid"] for task in tasks if task.get("tombstone")} == clones.deleted, seed
    ids = {task["id"] for task in tasks}
    assert {ref for task in tasks for ref in task.get("depends", [])} <= ids, seed
    raw = end.read("history.json")
    assert {cycle["completed_at"] for cycle in parse_json(raw)["cycles"]} == clones.cycles if raw else not clones.cycles
    everything = b"".join(end.files("memory").values()).decode()
    for name, words in clones.words.items():
        if name not in clones.gone:
            assert [word for word in sorted(words) if word not in everything] == [], (seed, name)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_three_clones_end_alike_and_lose_nothing(tmp_path: Path, seed: int) -> None:
    story(tmp_path / "all.git", seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_three_clones_end_alike_after_two_hundred_ways_to_meet(tmp_path: Path, part: int) -> None:
    chance = chance_of(part)
    for seed in (chance.randrange(10**9) for _ in range(25)):
        story(tmp_path / f"{seed}.git", seed)
