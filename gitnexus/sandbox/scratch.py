"""What is made for one run and gone after it: a folder with a home, and for root a group of processes."""

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("home", "tmp")
_GROUPS = Path("/sys/fs/cgroup")


# Folders in which nothing was put, for the next run: making and removing them takes longer than most commands.
_unused: list[tuple[int, str]] = []


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Make a private folder; whatever was put there is gone afterwards."""
    place = _taken() or _new()
    try:
        yield place
    finally:
        if _untouched(place):
            _unused.append((os.getpid(), place))
        else:
            _removed(place)


def _new() -> str:
    place = os.path.realpath(tempfile.mkdtemp(prefix="nexus-run-"))
    for name in _FOLDERS:
        os.mkdir(os.path.join(place, name), 0o700)
    return place


def _taken() -> str | None:
    with contextlib.suppress(IndexError):
        while True:
            owner, place = _unused.pop()
            if owner == os.getpid() and os.path.isdir(place):  # not that of the process we were forked from
                return place
    return None


def _untouched(place: str) -> bool:
    try:
        rows = [os.stat(os.path.join(place, name)) for name in ("", *_FOLDERS)]
        inside = [os.listdir(os.path.join(place, name)) for name in ("", *_FOLDERS)]
    except OSError:
        return False
    as_made = all(row.st_mode == stat.S_IFDIR | 0o700 and row.st_uid == os.geteuid() for row in rows)
    return as_made and [sorted(inside[0]), *inside[1:]] == [sorted(_FOLDERS), [], []]


@atexit.register
def _tidy() -> None:
    for owner, place in _unused:
        if owner == os.getpid():
            _removed(place)


@contextlib.contextmanager
def process_group(most: int) -> Iterator[tuple[str, ...]]:
    """Make a cgroup that holds at most so many processes; none where we may not.

    For root, whom RLIMIT_NPROC does not bind. Other users seldom may make one, and do not need it.
    """
    place = _made(most) if os.geteuid() == 0 else None
    try:
        yield (str(place / "cgroup.procs"),) if place else ()
    finally:
        if place:
            _abandoned(place)


def _abandoned(place: Path) -> None:
    """Remove a group; a process that has just ended is still counted for a moment."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            place.rmdir()
            return
        time.sleep(0.002)


def _made(most: int) -> Path | None:
    above = _own_group()
    if above is None:
        return None
    try:
        place = Path(tempfile.mkdtemp(prefix="nexus-run-", dir=above))
    except OSError:
        return None
    try:
        (place / "pids.max").write_text(str(most))
    except OSError:
        place.rmdir()
        return None
    return place


def _own_group() -> Path | None:
    """Return the folder of the group we are in, in the hierarchy that counts processes."""
    try:
        rows = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in rows:
        if "pids" in controllers.split(","):
            return _GROUPS / "pids" / path.lstrip("/")
    return next((_GROUPS / path.lstrip("/") for _, controllers, path in rows if not controllers), None)


def _removed(place: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    if os.path.lexists(place):  # folders that their maker closed even to himself
        for folder, _, _ in os.walk(place):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o700)
            for name in os.listdir(folder):
                inner = os.path.join(folder, name)
                if os.path.isdir(inner) and not os.path.islink(inner):
                    with contextlib.suppress(OSError):
                        os.chmod(inner, 0o700)
        shutil.rmtree(place, ignore_errors=True)
