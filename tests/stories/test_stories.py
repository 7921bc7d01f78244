"""Random stories on two or three clones and a server: whatever is killed, edited or collected, nothing is lost.

STORIES_SECONDS=3600 make slow FLAGS="-k stories" tells them for an hour; STORY="20261118 7" tells that one alone.
"""

import faulthandler
import os
import random
import shutil
import time
from pathlib import Path

import pytest

from tests.conftest import run_git
from tests.seeds import seed_of_run
from tests.stories import acts
from tests.stories.checks import check_all, check_tasks
from tests.stories.commands import STATE, Place, Violation
from tests.stories.tell import begin, do_alone, tell
from tests.stories.world import World

SECONDS = float(os.environ.get("STORIES_SECONDS") or 60)
STEPS = 40


@pytest.mark.slow(seconds=SECONDS)
def test_stories_of_clones_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    # Each command of a story is bounded; all of them together may take longer than `make` waits for a test.
    faulthandler.cancel_dump_traceback_later()
    names = [os.environ["STORY"]] if os.environ.get("STORY") else []
    until, told = time.monotonic() + SECONDS, 0
    while names or (time.monotonic() < until and not os.environ.get("STORY")):
        name = names.pop() if names else f"{seed_of_run()} {told}"
        root = tmp_path / f"{told}"
        root.mkdir()
        tell(root, name, STEPS)
        told += 1
        shutil.rmtree(root)
        print(f"{told} stories, the last one {name!r}", flush=True)

    assert told > 0


def test_a_story_that_loses_a_task_is_told_with_its_commands(tmp_path: Path) -> None:
    world = World(Place(tmp_path), random.Random("lossy"))
    begin(world)
    do_alone(world, acts.add_task(world, "clone1"))
    check_tasks(world, "clone1")
    run_git(tmp_path / "clone1", "update-ref", STATE, f"{STATE}~1")

    with pytest.raises(Violation, match="acknowledged commits are not in the state's history"):
        check_all(world)

    assert world.place.lines[-5].startswith("(cd clone1 && git nexus task add ")
