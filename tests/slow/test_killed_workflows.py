"""Twelve moments over the life of a workflow, and a kill at each."""

import json
import random
import re
import shutil
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.live import artifact, events, gone_on, killed, listed, untouched, whole
from tests.seeds import chance_of

LIVES = 3
PROMPT = "compare, plan and implement the steps in 'zu tun.md'"
# The second patch does not fit without the first, and neither fits twice.
TODO = """\
# Zu tun

- [ ] Greet in 'ä b.txt'

  ```diff
  diff --git "a/\\303\\244 b.txt" "b/\\303\\244 b.txt"
  new file mode 100644
  --- /dev/null
  +++ "b/\\303\\244 b.txt"
  @@ -0,0 +1 @@
  +Hello
  ```

- [ ] Greet once more

  ```diff
  diff --git "a/\\303\\244 b.txt" "b/\\303\\244 b.txt"
  --- "a/\\303\\244 b.txt"
  +++ "b/\\303\\244 b.txt"
  @@ -1 +1,2 @@
   Hello
  +Hello again
  ```
"""


def lives(project: Path, places: Path) -> Iterator[Nexus]:
    """Yield the same project again and again: what a researcher finds depends on the runs that were."""
    (project / "zu tun.md").write_text(TODO)
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "what to do")
    for at in range(LIVES + 1):
        nexus = Nexus(shutil.copytree(project, places / f"Büro {at}", symlinks=True))
        nexus.ok("init")
        yield nexus


def outcome(nexus: Nexus, run: str) -> tuple[Any, ...]:
    """Return what came of a run: also each commit's tree, the state of each node, and all that was written by whom."""
    place = nexus.place
    trees = run_git(place, "log", "--format=%T %s", f"HEAD..nexus/{run}").replace(run, "RUN")
    done = [one["node"] for one in events(place, run, "node.completed")]
    steps = [(one["step"], one["ok"]) for one in events(place, run, "step.finished")]
    written = [(one["node"], one["name"], _plain(artifact(place, run, one["digest"]).read_bytes(), run))
               for one in events(place, run, "artifact.written") if "node" in one]  # fmt: skip
    papers = run_git(place, "ls-tree", "-r", "--name-only", "refs/nexus/state", "plans", "research").replace(run, "RUN")
    assert json.loads(nexus.ok("verify", f"main..nexus/{run}", "--json"))["ok"]
    return *whole(nexus, run), trees, done, steps, written, papers


def _plain(data: bytes, run: str) -> bytes:
    """Return an artifact without what differs from run to run: its id, and the commits that a pack was built at."""
    return re.sub(rb"[0-9a-f]{40,64}", b"ID", data.replace(run.encode(), b"RUN"))


def started(nexus: Nexus) -> str:
    (run,) = listed(nexus)
    return run


def lived(nexus: Nexus, chance: random.Random, usual: list[float], hit: list[bool]) -> tuple[Any, ...]:
    """Kill a workflow while it is started, gone on with, and approved twice; return what came of it."""
    mine = untouched(nexus.place)

    def kill(at: int, *argv: str) -> None:
        hit.append(killed(nexus.place, chance.uniform(0.2, 1) * usual[at], chance.random() < 0.5, *argv))

    kill(0, "run", PROMPT, "--yes")
    if not listed(nexus):  # killed before anybody could know of it
        gone_on(nexus, "run", PROMPT, "--yes")
    run = started(nexus)
    kill(0, "resume", run)
    gone_on(nexus, "resume", run)
    for at in (1, 2):
        kill(at, "approve", "--unseen", run)
        gone_on(nexus, "resume", run)
    for _ in range(2):
        if listed(nexus)[run]["status"] != "completed":
            gone_on(nexus, "approve", "--unseen", run)
    assert untouched(nexus.place) == mine
    return outcome(nexus, run)


def undisturbed(nexus: Nexus) -> tuple[list[float], tuple[Any, ...]]:
    """Return how long starting and approving take here, and what comes of it."""
    clock = [time.monotonic()]
    killed(nexus.place, 600, False, "run", PROMPT, "--yes")
    clock.append(time.monotonic())
    run = started(nexus)
    for _ in range(2):
        killed(nexus.place, 600, False, "approve", "--unseen", run)
        clock.append(time.monotonic())
    return [after - before for before, after in pairwise(clock)], outcome(nexus, run)


@pytest.mark.slow(seconds=60)
def test_a_workflow_killed_at_twelve_moments_ends_as_one_that_was_not(project: Path, tmp_path: Path) -> None:
    chance, places = chance_of(0), lives(project, tmp_path)
    usual, wanted = undisturbed(next(places))
    hit: list[bool] = []

    found = [lived(nexus, chance, usual, hit) for nexus in places]

    assert wanted[0] == "completed"
    for one in found:
        assert one == wanted
    assert (len(hit), hit.count(True) >= LIVES) == (4 * LIVES, True)  # else nothing was disturbed
