"""Many processes at once, and some of them killed."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from gitnexus.projects.granting import grant
from gitnexus.projects.grants import read_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.store import read_registry
from tests.conftest import run_git
from tests.projects.conftest import World


def started(*argv: str, place: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["git-nexus", *argv], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def names(world: World) -> set[str]:
    return {row.name for row in read_registry(world.home.latest()).projects.values()}


def test_of_twenty_registrations_at_once_twenty_are_there(world: World) -> None:
    expected = {f"p{number}" for number in range(20)}
    for name in expected:
        world.cleo_project(name)

    running = [started("register", name, place=world.root) for name in sorted(expected)]

    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 20
    assert names(world) == expected
    assert len(world.commits()) == 21


def test_of_twenty_first_registrations_at_once_in_an_empty_home_twenty_are_there(tmp_path: Path) -> None:
    """Nobody has made the home repository yet: all of them try."""
    for number in range(20):
        (tmp_path / f"p{number}" / ".cleo").mkdir(parents=True)
        (tmp_path / f"p{number}" / ".cleo" / "todo.json").write_text("{}")

    running = [started("register", f"p{number}", place=tmp_path) for number in range(20)]

    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 20
    assert len(names(World(tmp_path))) == 20


def test_of_two_who_want_the_same_name_one_gets_it(world: World) -> None:
    for folder in ("a", "b"):
        world.cleo_project(folder)

    running = [started("register", folder, "--name", "same", place=world.root) for folder in ("a", "b")]
    codes = [process.communicate() and process.returncode for process in running]

    assert sorted(codes) == [0, 6]
    assert names(world) == {"same"}


def test_grants_and_registrations_at_once_lose_nothing(world: World) -> None:
    rows = [world.register(world.cleo_project(f"p{number}")) for number in range(6)]
    for number in range(6):
        world.cleo_project(f"new{number}")

    running = [started("grant", "p0", row.name, "--permission", "write", place=world.root) for row in rows[1:]]
    running += [started("register", f"new{number}", place=world.root) for number in range(6)]

    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 11
    assert len(names(world)) == 12
    assert {row.to for row in read_permissions(world.home.latest()).project_relationships} == {
        row.hash for row in rows[1:]
    }


def test_killed_at_any_moment_it_is_before_or_after(world: World) -> None:
    chance = random.Random(7)
    steady = world.register(world.cleo_project("steady"))
    for round_number in range(10):
        name = f"gone{round_number}"
        row = world.register(world.cleo_project(name))
        grant(world.home, steady, row, Level.WRITE, "")
        (world.root / name).rename(world.root / f"away{round_number}")
        victim = started("prune", place=world.root)
        time.sleep(chance.uniform(0.05, 0.25))
        os.kill(victim.pid, signal.SIGKILL)
        victim.communicate()

        there = row.hash in read_registry(world.home.latest()).projects
        granted = any(one.to == row.hash for one in read_permissions(world.home.latest()).project_relationships)
        assert there == granted

    done = started("prune", place=world.root)
    assert (done.communicate()[1], done.returncode) == (b"", 0)
    assert names(world) == {"steady"}
    assert read_permissions(world.home.latest()).project_relationships == ()
    assert run_git(world.root, f"--git-dir={world.home.repo.git_dir}", "fsck", "--strict", "--no-dangling") == ""
