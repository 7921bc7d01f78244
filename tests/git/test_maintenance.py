"""Loose objects that pile up are packed by the next command that writes, unless the user forbids it."""

import os
from pathlib import Path

import pytest

from gitnexus.git.maintenance import GIT_PACKS_AT, MOST_LOOSE
from tests.conftest import Nexus, run_git


def loose(place: Path) -> int:
    return int(run_git(place, "count-objects").split()[0])


def pile_up(place: Path, folder: Path) -> list[str]:
    """Write many loose objects and return their ids."""
    folder.mkdir()
    for number in range(2 * MOST_LOOSE):
        (folder / str(number)).write_text(f"object {number}\n")
    names = "".join(f"{folder}/{number}\n" for number in range(2 * MOST_LOOSE))
    return run_git(place, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=names).split()


@pytest.mark.slow(seconds=2)
def test_a_command_that_writes_packs_what_piled_up_and_loses_nothing(
    project: Path, nexus: Nexus, tmp_path: Path
) -> None:
    oids = pile_up(project, tmp_path / "many")
    run_git(project, "config", "gc.auto", "6700")
    run_git(project, "config", "maintenance.auto", "true")
    nexus.ok("task", "list")
    assert loose(project) > MOST_LOOSE  # who only reads packs nothing

    nexus.ok("task", "add", "new")

    assert loose(project) == 0
    asked = run_git(project, "cat-file", "--batch-check", stdin="\n".join(oids) + "\n")
    assert len(asked.splitlines()) == len(oids)
    assert "missing" not in asked
    assert run_git(project, "fsck", "--no-dangling") == ""
    assert "new" in nexus.ok("task", "list")


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("key", "value"), [("gc.auto", "0"), ("maintenance.auto", "false")])
def test_nothing_is_packed_where_the_user_forbids_it(
    project: Path, nexus: Nexus, tmp_path: Path, key: str, value: str
) -> None:
    pile_up(project, tmp_path / "many")
    run_git(project, "config", key, value)

    nexus.ok("task", "add", "new")

    assert loose(project) > MOST_LOOSE


def test_the_doctor_says_when_there_are_more_than_git_leaves_loose(project: Path, nexus: Nexus) -> None:
    run_git(project, "config", "gc.auto", "0")
    for name in ("17", "5b", "9e", "d2"):
        folder = project / ".git" / "objects" / name
        folder.mkdir(exist_ok=True)
        for number in range(GIT_PACKS_AT // 256 + 2):
            os.close(os.open(folder / f"{number:038x}", os.O_CREAT))

    told = nexus("doctor")

    assert "loose objects" in told.stdout
    assert "git maintenance run packs them, which maintenance.auto or gc.auto forbids git nexus" in told.stdout
