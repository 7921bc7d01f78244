"""Many processes at once, and some of them killed."""

import os
import signal
import time
from pathlib import Path

import pytest

from gitnexus.base.clock import utc_now
from gitnexus.state import State
from gitnexus.state.format import new_state_files
from tests.conftest import run_git
from tests.forked import ForkedPython
from tests.seeds import chance_of

# Each process adds one to its own counter and to the shared one, and tells only what was reported as done.
WRITER = """
import sys
from pathlib import Path
from gitnexus.state import Change, State
place, name, times, life = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
state = State.open(place, life)
def decide(snapshot):
    total = int(snapshot.read("backlog/total.json") or b"0") + 1
    mine = int(snapshot.read(f"backlog/{name}.json") or b"0") + 1
    return Change({"backlog/total.json": b"%d" % total, f"backlog/{name}.json": b"%d" % mine}, f"count {name}", mine)
for _ in range(times):
    print(state.transact(decide), flush=True)
"""


def started(place: Path, name: str, times: int, life: str) -> ForkedPython:
    return ForkedPython(WRITER, str(place), name, str(times), life)


def begun(place: Path) -> State:
    state = State.open(place)
    state.write(new_state_files("project", utc_now()), why="init: begin")
    return state


def count(place: Path, name: str) -> int:
    return int(State.open(place).read(f"backlog/{name}.json") or b"0")


@pytest.mark.slow(seconds=20)
def test_sixteen_processes_with_fifty_increments_keep_all_eight_hundred(repository: Path) -> None:
    begun(repository)

    writers = [started(repository, f"w{n}", 50, "long") for n in range(16)]
    said = [writer.communicate() for writer in writers]

    assert [err for _, err in said if err] == []
    assert count(repository, "total") == 800
    assert run_git(repository, "fsck", "--strict", "--no-dangling") == ""
    assert run_git(repository, "rev-list", "--count", "refs/nexus/state").strip() == "801"


def test_both_ways_of_writing_get_along(repository: Path) -> None:
    begun(repository)

    writers = [started(repository, f"w{n}", 15, "long" if n % 2 else "short") for n in range(4)]
    said = [writer.communicate() for writer in writers]

    assert [err for _, err in said if err] == []
    assert count(repository, "total") == 60


@pytest.mark.parametrize(
    ("life", "kills"),
    [
        pytest.param("long", 3, marks=pytest.mark.slow),
        ("short", 3),
        pytest.param("long", 60, marks=pytest.mark.slow(seconds=20)),
        pytest.param("short", 20, marks=pytest.mark.slow),
    ],
)
def test_what_a_killed_process_reported_is_there_and_the_store_opens(repository: Path, life: str, kills: int) -> None:
    begun(repository)
    chance = chance_of(kills)
    reported: dict[str, int] = {}
    steady = started(repository, "steady", kills * 4, life)

    for round_number in range(kills):
        name = f"k{round_number}"
        victim = started(repository, name, 10_000, life)
        reported[name] = int(victim.stdout.readline())
        time.sleep(chance.uniform(0, 0.05))
        os.kill(victim.pid, signal.SIGKILL)
        rest = victim.stdout.read().split()  # communicate() would miss what readline() has read ahead
        victim.communicate()
        reported[name] = int(rest[-1]) if rest else reported[name]
    out, err = steady.communicate()

    assert err == ""
    kept = {name: count(repository, name) for name in reported}
    # The last write may have been done and not yet told.
    assert {name: (reported[name], kept[name]) for name in kept if kept[name] - reported[name] not in (0, 1)} == {}
    assert count(repository, "steady") == len(out.split())
    assert count(repository, "total") == sum(kept.values()) + count(repository, "steady")
    assert run_git(repository, "fsck", "--strict", "--no-dangling") == ""
