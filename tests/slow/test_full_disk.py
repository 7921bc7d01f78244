"""A disk that is really full: an error in a sentence, every byte as before, and work goes on when there is room."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.git import GitFailed
from gitnexus.state import STATE_REF, State
from tests.conftest import Nexus, run_git

pytestmark = pytest.mark.slow


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 600 kB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot be had here: a file system of its own, which needs root: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> Path:
    filler = place / "filler"
    with filler.open("wb", buffering=0) as handle, contextlib.suppress(OSError):
        while True:
            handle.write(b"\0" * 1024)
    return filler


@pytest.mark.parametrize("life", ["short", "long"])
def test_a_full_disk_changes_nothing(small_disk: Path, life: str) -> None:
    run_git(small_disk, "init", "-q", "--template=")
    nexus = Nexus(small_disk)
    nexus.ok("init", "--local")
    (small_disk / ".nexus" / "memory").mkdir()
    note = small_disk / ".nexus" / "memory" / "a.md"
    note.write_text("before\n")
    nexus.ok("status")
    before = run_git(small_disk, "rev-parse", STATE_REF)
    note.write_text("edited\n")
    filler = fill(small_disk)

    state = State.open(small_disk, life)  # type: ignore[arg-type]
    with pytest.raises(GitFailed):
        state.write({"memory/b.md": b"x" * 5000}, why="while full")
    state.close()
    del state
    shown = nexus("status")

    assert shown.returncode == 0
    assert "your edits in .nexus/ are not committed yet" in shown.stderr
    assert run_git(small_disk, "rev-parse", STATE_REF) == before
    assert note.read_text() == "edited\n"
    assert not list((small_disk / ".git").glob("fast_import_crash*"))

    filler.unlink()
    assert "committed your edits" in nexus("status").stderr
    assert run_git(small_disk, "show", f"{STATE_REF}:memory/a.md") == "---\nrev: 1\n---\nedited\n"
    assert run_git(small_disk, "fsck", "--strict") == ""


def test_a_full_disk_changes_no_plan_no_task_and_no_history(small_disk: Path) -> None:
    run_git(small_disk, "init", "-q", "--template=")
    nexus = Nexus(small_disk)
    nexus.ok("plan", "start", "Storage", "Which?")
    nexus.ok("cycle", "close")
    nexus.ok("plan", "start", "Again", "How?")
    nexus.ok("tool", "task_add", '{"title": "t", "context": "c"}')
    names = ("state/plan.json", "state/tasks.json", "history.json")
    before = [(small_disk / ".nexus" / name).read_bytes() for name in names]
    filler = fill(small_disk)

    long = "x" * 9000
    for argv in (
        ["tool", "task_add", f'{{"title": "u", "context": "{long}"}}'],
        ["plan", "add", long],
        ["cycle", "close"],
    ):
        done = nexus(*argv)
        assert done.returncode == 1, (argv, done)
    assert [(small_disk / ".nexus" / name).read_bytes() for name in names] == before

    filler.unlink()
    nexus.ok("cycle", "close")
    assert len(json.loads((small_disk / ".nexus" / "history.json").read_text())["cycles"]) == 2


def test_a_full_disk_of_the_server_is_told_by_its_name_and_nothing_is_lost(small_disk: Path, tmp_path: Path) -> None:
    run_git(small_disk, "init", "-q", "--bare", "--template=", "hub.git")
    place = tmp_path / "project"
    run_git(tmp_path, "init", "-q", str(place))
    run_git(place, "commit", "-q", "--allow-empty", "-m", "first")
    nexus = Nexus(place)
    nexus.ok("init", "--local")
    run_git(place, "remote", "add", "origin", str(small_disk / "hub.git"))
    nexus.ok("sync")
    nexus.ok("task", "add", "kept")
    filler = fill(small_disk)

    refused = nexus("sync")

    assert refused.returncode == 1
    assert f"origin could not store {STATE_REF}: No space left on device" in refused.stderr
    assert "--probe" not in refused.stderr
    filler.unlink()
    assert "Sent to origin: 1 task" in nexus.ok("sync")
