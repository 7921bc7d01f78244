"""Creates the folder through which sandboxed commands contact a tool relay, and removes it, also after a kill."""

import contextlib
import fcntl
import os
from pathlib import Path

from gitnexus.base.randomness import random_hex

_PREFIX = "calls-"


def make_folder(private: Path) -> tuple[Path, int]:
    """Create a folder, and return it with a descriptor that holds its lock. Raises: OSError.

    Its name cannot be known inside the sandbox before, so nothing that an agent prepared there, such as links, is used.
    The folder gets the name after it is locked, so that nobody takes it for one that a dead process left behind.
    """
    name = random_hex(12)
    fresh, folder = private / f"new-{name}", private / f"{_PREFIX}{name}"
    fresh.mkdir(mode=0o700)
    place = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fresh.rename(folder)
    return folder, place


def remove_folder(folder: Path, place: int) -> None:
    """Remove a folder, as far as what is in it is what we know: an agent may have put anything there."""
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=place)
        folder.rmdir()
    os.close(place)


def remove_left_folders(private: Path) -> None:
    """Remove what a killed process left in the private folder of a run or of a step of it; what is in use stays."""
    with contextlib.suppress(OSError):
        run = private.name.partition(".")[0]
        above = [name for name in os.listdir(private.parent) if name.partition(".")[0] == run]
        for folder in (private.with_name(name) for name in above):
            for name in os.listdir(folder):
                if name.startswith(_PREFIX):
                    with contextlib.suppress(OSError):
                        _remove_unused(folder / name)


def _remove_unused(folder: Path) -> None:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(place)
        return
    remove_folder(folder, place)
