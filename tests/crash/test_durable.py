"""What a process has acknowledged is there after a power cut, where git is told to sync what it writes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.git.durability import fsynced_components
from tests.conftest import copy_tree, run_git
from tests.crash.injector import Fault, Injector, build_library
from tests.crash.power import cut_power, durable_files
from tests.rows import few_fast
from tests.slow.peers import CannotBeHad

WRITES = """
import sys
from pathlib import Path
from gitnexus.state import State
state = State.open(Path(sys.argv[1]), sys.argv[2])
for number in range(3):
    state.write({f"memory/{number}.md": b"acknowledged\\n"}, why=f"write {number}")
state.close()
"""


@pytest.fixture
def injector(tmp_path: Path, project: Path) -> Iterator[Injector]:
    private = tmp_path / "private"
    private.mkdir()
    try:
        library = build_library(private)
    except CannotBeHad as exc:
        pytest.skip(f"cannot be had here: cc: {exc}")
    made = Injector(library, project.resolve(), private, {})
    yield made
    made.close()


@pytest.mark.parametrize("life", ["short", "long"])
@pytest.mark.parametrize("setting", few_fast(["core.fsync=committed,loose-object,reference", "core.fsync=all"]))
def test_what_was_acknowledged_outlives_a_power_cut(
    injector: Injector, project: Path, tmp_path: Path, life: str, setting: str
) -> None:
    run_git(project, "config", *setting.split("="))
    run_git(project, "repack", "-adq")  # a tree in a pack is changed by another way of libgit2
    run_git(project, "pack-refs", "--all")
    before = durable_files(project.resolve(), copy_tree(project, tmp_path / "template"))

    done = injector.run(
        (sys.executable, "-c", WRITES, str(project), life), project, Fault.POWER, 1_000_000
    )  # it is over when the power goes
    cut_power(project.resolve(), before, injector.synced)

    assert done.status == 0, str(done)
    assert run_git(project, "fsck", "--strict", "--no-dangling") == ""
    shown = run_git(project, "ls-tree", "-r", "--name-only", "refs/nexus/state", "memory/").split()
    assert shown == ["memory/0.md", "memory/1.md", "memory/2.md"]


@pytest.mark.parametrize(
    ("setting", "objects", "refs"),
    [
        ("", False, False),
        ("none", False, False),
        ("committed,-loose-object", True, True),  # git, too, counts what is named over what is taken away
        ("objects", True, False),
        ("loose-object", True, False),
        ("reference", False, True),
        ("pack,pack-metadata,index,-reference", False, False),
        (" added", True, True),
        ("all", True, True),
        ("loose_object", False, False),
    ],
)
def test_the_setting_is_read_as_git_reads_it(setting: str, objects: bool, refs: bool) -> None:
    assert fsynced_components(setting) == (objects, refs)
