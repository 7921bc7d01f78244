"""The fault injector itself, and a few of the points that tests/slow/test_crash_points.py tries all of."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import run_git
from tests.crash.injector import Fault, Injector, build_library
from tests.crash.power import cut_power, durable_files
from tests.slow.peers import CannotBeHad

PROGRAM = str(Path(sys.executable).with_name("git-nexus"))
WRITES = """
import os, sys
folder, kept = sys.argv[1], sys.argv[2]
for name, synced in (("synced", True), ("lost", False)):
    fd = os.open(f"{folder}/{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(fd, b"whole")
    if synced:
        os.fsync(fd)
    os.close(fd)
    os.rename(f"{folder}/{name}.tmp", f"{folder}/{name}")
with open(kept, "a") as file:
    file.write("more")
os.mkdir(f"{folder}/last")
"""
CHANGES = ["open", "write", "fsync", "rename", "open", "write", "rename", "write", "mkdir"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build_library(tmp_path_factory.mktemp("library"))
    except CannotBeHad as exc:
        pytest.skip(f"cannot be had here: cc: {exc}")


@pytest.fixture
def injector(library: Path, tmp_path: Path) -> Iterator[Injector]:
    root, private = tmp_path / "root", tmp_path / "private"
    root.mkdir()
    private.mkdir()
    made = Injector(library, root, private, {})
    yield made
    made.close()


@pytest.fixture
def argv(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "root").mkdir(exist_ok=True)
    (tmp_path / "root" / "old").write_text("old ")
    return sys.executable, "-c", WRITES, str(tmp_path / "root"), str(tmp_path / "root" / "old")


def test_every_change_below_the_root_is_counted(injector: Injector, argv: tuple[str, ...], tmp_path: Path) -> None:
    done = injector.run(argv, tmp_path, trace=True)

    assert (done.status, done.changes) == (0, len(CHANGES))
    assert [line.split()[2] for line in injector.log.read_text().splitlines()] == CHANGES


def test_nothing_elsewhere_is_counted(injector: Injector, argv: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()

    done = injector.run((*argv[:3], str(tmp_path / "elsewhere"), str(tmp_path / "x")), tmp_path)

    assert (done.status, done.changes) == (0, 0)


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (Fault.KILL_ALL, -9, ""),
        (Fault.KILL_ONE, -9, ""),
        (Fault.NO_SPACE, 1, "No space left on device"),
        (Fault.IO_ERROR, 1, "Input/output error"),
    ],
)
def test_the_change_that_is_struck_does_not_happen(
    injector: Injector, argv: tuple[str, ...], tmp_path: Path, fault: Fault, status: int, words: str
) -> None:
    done = injector.run(argv, tmp_path, fault, 4)

    assert (done.status, done.at) == (status, "rename /synced")
    assert words in done.err
    assert sorted(path.name for path in (tmp_path / "root").iterdir()) == ["old", "synced.tmp"]


def test_on_a_disk_that_becomes_full_half_of_it_is_written(
    injector: Injector, argv: tuple[str, ...], tmp_path: Path
) -> None:
    done = injector.run(argv, tmp_path, Fault.FULL, 2)

    assert "No space left on device" in done.err
    assert (tmp_path / "root" / "synced.tmp").read_bytes() == b"wh"


def test_a_power_cut_leaves_what_was_synced(injector: Injector, argv: tuple[str, ...], tmp_path: Path) -> None:
    root, template = tmp_path / "root", tmp_path / "template"
    template.mkdir()
    (template / "old").write_text("old ")
    before = durable_files(root, template)

    done = injector.run(argv, tmp_path, Fault.POWER, len(CHANGES))
    lost = cut_power(root, before, injector.synced)

    assert done.status == -9
    assert sorted(map(str, lost)) == ["lost", "old"]
    assert {path.name: path.read_text() for path in root.iterdir()} == {"synced": "whole", "lost": "", "old": "old "}


@pytest.mark.parametrize(("fault", "number"), [(Fault.KILL_ALL, 21), (Fault.KILL_ONE, 20), (Fault.IO_ERROR, 12)])
def test_a_task_that_is_struck_while_it_is_added_is_added_by_the_next_call(
    library: Path, project: Path, tmp_path: Path, fault: Fault, number: int
) -> None:
    (tmp_path / "private").mkdir()
    injector = Injector(library, project.resolve(), tmp_path / "private", {})
    try:
        struck = injector.run((PROGRAM, "task", "add", "first"), project, fault, number)
        again = injector.run((PROGRAM, "task", "add", "second"), project)
    finally:
        injector.close()

    assert struck.struck and struck.status in (-9, 1) and "Traceback" not in struck.err, str(struck)
    assert again.status == 0, str(again)
    assert task_titles(project) in (["second"], ["first", "second"])
    assert run_git(project, "fsck", "--strict", "--no-dangling") == ""


def task_titles(project: Path) -> list[str]:
    """Return the titles of the tasks on the state ref, in the order of their ids."""
    names = run_git(project, "ls-tree", "-r", "--name-only", "refs/nexus/state", "backlog/").split()
    ids = sorted(name for name in names if name.startswith("backlog/T"))
    return [json.loads(run_git(project, "show", f"refs/nexus/state:{name}"))["title"] for name in ids]
