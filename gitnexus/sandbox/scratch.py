"""What is made for one run and gone after it: a folder with a home, and for root a group of processes."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Make a private folder; it is gone afterwards, whatever was put there."""
    place = os.path.realpath(tempfile.mkdtemp(prefix="nexus-run-"))
    try:
        for name in ("home", "tmp"):
            os.mkdir(os.path.join(place, name), 0o700)
        yield place
    finally:
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
