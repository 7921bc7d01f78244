"""Many processes at once, and some of them killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest

from gitnexus.projects.granting import grant_permission
from gitnexus.projects.grants import read_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.prune import prune_projects
from gitnexus.projects.store import read_registry
from tests.conftest import Nexus, run_git
from tests.projects.conftest import TODAY, World


def started(*argv: str, place: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["git-nexus", *argv], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def at_once(place: Path, commands: Iterable[tuple[str, ...]]) -> list[tuple[str, int]]:
    """Run all commands at once, each in a process of its own, and return what each complained of and its status."""
    todo = list(commands)
    Nexus(place).ok("--version")  # the process that all are forked from is there before two threads want it
    with ThreadPoolExecutor(len(todo)) as pool:
        done = list(pool.map(lambda argv: Nexus(place)(*argv), todo))
    return [(process.stderr, process.returncode) for process in done]


def names(world: World) -> set[str]:
    return {row.name for row in read_registry(world.home.latest()).projects.values()}


@pytest.mark.slow
def test_of_twenty_registrations_at_once_twenty_are_there(world: World) -> None:
    expected = {f"p{number}" for number in range(20)}
    for name in expected:
        world.cleo_project(name)

    done = at_once(world.root, [("register", name) for name in sorted(expected)])

    assert done == [("", 0)] * 20
    assert names(world) == expected
    assert len(world.commits()) == 21


@pytest.mark.slow
def test_of_twenty_first_registrations_at_once_in_an_empty_home_twenty_are_there(tmp_path: Path) -> None:
    """Nobody has made the home repository yet: all of them try."""
    for number in range(20):
        (tmp_path / f"p{number}" / ".cleo").mkdir(parents=True)
        (tmp_path / f"p{number}" / ".cleo" / "todo.json").write_text("{}")

    done = at_once(tmp_path, [("register", f"p{number}") for number in range(20)])

    assert done == [("", 0)] * 20
    assert len(names(World(tmp_path))) == 20


def test_of_two_who_want_the_same_name_one_gets_it(world: World) -> None:
    for folder in ("a", "b"):
        world.cleo_project(folder)

    done = at_once(world.root, [("register", folder, "--name", "same") for folder in ("a", "b")])

    assert sorted(status for _, status in done) == [0, 6]
    assert names(world) == {"same"}


def test_grants_and_registrations_at_once_lose_nothing(world: World) -> None:
    rows = [world.register(world.cleo_project(f"p{number}")) for number in range(6)]
    for number in range(6):
        world.cleo_project(f"new{number}")

    grants = [("grant", "p0", row.name, "--permission", "write") for row in rows[1:]]
    done = at_once(world.root, [*grants, *(("register", f"new{number}") for number in range(6))])

    assert done == [("", 0)] * 11
    assert len(names(world)) == 12
    assert {row.to for row in read_permissions(world.home.latest()).project_relationships} == {
        row.hash for row in rows[1:]
    }


def prune_until(world: World, calls: int) -> int:
    """Prune in a process that kills itself at its `calls`-th call of a function; return how it ended."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def kill_at(frame: FrameType, event: str, arg: object) -> None:
            nonlocal count
            count += 1
            if count == calls:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(kill_at)
        prune_projects(world.home, TODAY, older_than=None, dry_run=False, here=None)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def is_whole(world: World, row: Project) -> bool:
    """Whether the project and what it was granted are there, or neither."""
    snapshot = world.home.latest()
    granted = any(one.to == row.hash for one in read_permissions(snapshot).project_relationships)
    return granted == (row.hash in read_registry(snapshot).projects)


def test_killed_at_some_moments_it_is_before_or_after(world: World) -> None:
    steady, row = (world.register(world.cleo_project(name)) for name in ("steady", "gone"))
    grant_permission(world.home, steady, row, Level.WRITE, "")
    (world.root / "gone").rename(world.root / "away")
    calls, statuses = 50, []

    while not statuses or statuses[-1] != 0:
        statuses.append(prune_until(world, calls))
        assert is_whole(world, row), calls
        calls = calls * 5 // 4

    assert set(statuses) == {-signal.SIGKILL, 0}
    assert names(world) == {"steady"}
    assert read_permissions(world.home.latest()).project_relationships == ()


@pytest.mark.slow
def test_killed_at_any_moment_it_is_before_or_after(world: World) -> None:
    chance = random.Random(7)
    steady = world.register(world.cleo_project("steady"))
    for round_number in range(10):
        name = f"gone{round_number}"
        row = world.register(world.cleo_project(name))
        grant_permission(world.home, steady, row, Level.WRITE, "")
        (world.root / name).rename(world.root / f"away{round_number}")
        victim = started("prune", place=world.root)
        time.sleep(chance.uniform(0.05, 0.25))
        os.kill(victim.pid, signal.SIGKILL)
        victim.communicate()

        assert is_whole(world, row)

    done = started("prune", place=world.root)
    assert (done.communicate()[1], done.returncode) == (b"", 0)
    assert names(world) == {"steady"}
    assert read_permissions(world.home.latest()).project_relationships == ()
    assert run_git(world.root, f"--git-dir={world.home.repo.git_dir}", "fsck", "--strict", "--no-dangling") == ""
