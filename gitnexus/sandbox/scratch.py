"""Creates a temporary folder with a home and a temp directory for one command, and removes it afterwards."""

import atexit
import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.files import remove_tree

_FOLDERS = ("home", "tmp")


# Folders in which nothing was put, for the next run: making and removing them takes longer than most commands.
_unused: list[tuple[int, str]] = []


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Create a private folder that is removed afterwards with its content."""
    place = _take_unused() or _make_scratch()
    try:
        yield place
    finally:
        if _is_untouched(place):
            _unused.append((os.getpid(), place))
        else:
            _remove_scratch(place)


def _make_scratch() -> str:
    place = os.path.realpath(tempfile.mkdtemp(prefix="nexus-run-"))
    for name in _FOLDERS:
        os.mkdir(os.path.join(place, name), 0o700)
    return place


def _take_unused() -> str | None:
    with contextlib.suppress(IndexError):
        while True:
            owner, place = _unused.pop()
            if owner == os.getpid() and os.path.isdir(place):  # not that of the process we were forked from
                return place
    return None


def _is_untouched(place: str) -> bool:
    try:
        rows = [os.stat(os.path.join(place, name)) for name in ("", *_FOLDERS)]
        inside = [os.listdir(os.path.join(place, name)) for name in ("", *_FOLDERS)]
    except OSError:
        return False
    as_made = all(row.st_mode == stat.S_IFDIR | 0o700 and row.st_uid == os.geteuid() for row in rows)
    return as_made and [sorted(inside[0]), *inside[1:]] == [sorted(_FOLDERS), [], []]


@atexit.register
def _remove_unused() -> None:
    for owner, place in _unused:
        if owner == os.getpid():
            _remove_scratch(place)


def _remove_scratch(place: str) -> None:
    remove_tree(Path(place))
    if os.path.lexists(place):  # folders that their maker closed even to himself
        for folder, _, _ in os.walk(place):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o700)
            for name in os.listdir(folder):
                inner = os.path.join(folder, name)
                if os.path.isdir(inner) and not os.path.islink(inner):
                    with contextlib.suppress(OSError):
                        os.chmod(inner, 0o700)
        remove_tree(Path(place))
