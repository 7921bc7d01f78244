"""Commands struck at every change of the file system, by kills, a full disk, errors and power cuts: the next call ends.

CRASH_POINTS=sample, as in .ci/run, tries a few that the date chooses; `make slow` tries all, for hours.
"""

import faulthandler
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.injector import Fault, build_library
from tests.crash.scenes import SCENES, Scene
from tests.crash.stage import Stage
from tests.crash.trial import Prepared, prepare, try_point
from tests.seeds import seed_of_run
from tests.slow.peers import CannotBeHad

Stages = Callable[[bool], Stage]
FAULTS = [fault for fault in Fault if fault is not Fault.NONE]
ALL = os.environ.get("CRASH_POINTS", "all") == "all"
# In a sample: so many points of each command, by faults at which every point tried so far held.
POINTS_IN_SAMPLE = 6
IN_SAMPLE = {
    "task add": (Fault.KILL_ALL, Fault.KILL_ONE, Fault.IO_ERROR),
    "approve": (Fault.KILL_ALL, Fault.KILL_ONE),
}


def cases() -> list[tuple[Scene, tuple[Fault, ...]]]:
    """Return each scene with each fault alone, or those of the sample with their faults."""
    if ALL:
        return [(scene, (fault,)) for scene in SCENES for fault in FAULTS]
    return [(scene, IN_SAMPLE[scene.name]) for scene in SCENES if scene.name in IN_SAMPLE]


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stages]:
    """Stages by whether git is told to sync what it writes, made when they are asked for."""
    try:
        library = build_library(tmp_path_factory.mktemp("library"))
    except CannotBeHad as exc:
        pytest.skip(f"cannot be had here: cc: {exc}")
    made: dict[bool, Stage] = {}

    def get(durable: bool) -> Stage:
        if durable not in made:
            made[durable] = Stage(library, tmp_path_factory.mktemp("stage"), durable=durable)
        return made[durable]

    yield get
    for stage in made.values():
        stage.close()


@pytest.mark.slow(seconds=300 if ALL else 20)
@pytest.mark.parametrize(
    ("scene", "faults"),
    [pytest.param(*case, id=f"{case[0].name}, {'+'.join(fault.name for fault in case[1])}") for case in cases()],
)
def test_a_command_struck_at_any_change_is_finished_by_the_next_call(
    stages: Stages, scene: Scene, faults: tuple[Fault, ...]
) -> None:
    # Each trial is bounded; all points of a command together may take longer than `make` waits for a test.
    faulthandler.cancel_dump_traceback_later()
    prepared: dict[bool, Prepared] = {}
    wrong = []
    for fault, part in points(scene, faults):
        durable = fault is Fault.POWER
        stage = stages(durable)
        if durable not in prepared:
            prepared[durable] = prepare(stage, scene)
        ready = prepared[durable]
        for number in range(1, ready.points + 1) if part is None else [1 + int(part * ready.points)]:
            struck, violations = try_point(stage, ready, fault, number)
            wrong += [f"{fault.name} at change {number}, {struck.at}: {violation}" for violation in violations]

    assert wrong == []


def points(scene: Scene, faults: tuple[Fault, ...]) -> list[tuple[Fault, float | None]]:
    """Return what to try: every change of a command, or a few by how far into the command they are."""
    if ALL:
        return [(fault, None) for fault in faults]
    chance = random.Random(f"{seed_of_run()} {scene.name}")
    print(f"SEED={seed_of_run()} repeats this")
    return [(chance.choice(faults), chance.random()) for _ in range(POINTS_IN_SAMPLE)]


def test_every_scene_has_a_name_of_its_own() -> None:
    assert len({scene.name for scene in SCENES}) == len(SCENES)


def test_a_missing_compiler_is_told_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(CannotBeHad, match="there is no cc on PATH"):
        build_library(tmp_path)
