"""Replaces whole files atomically, creates private folders, removes folder trees, and expands `~` in paths."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from gitnexus.base.randomness import random_hex

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOVED = ".nexus-removed-"
_MOST_FOUND = 2000


def expand_home(path: str | Path) -> Path:
    """Return a path with its leading `~` or `~name` replaced; unchanged if there is no such user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def files_upward(names: Sequence[str], folder: Path, top: Path) -> Iterator[Path]:
    """Yield files with one of the names in a folder and in those above it, up to `top`; a name may contain `*`."""
    at = folder
    while True:
        for name in names:
            if "*" in name:
                yield from islice(at.glob(name), _MOST_FOUND)
            elif os.path.lexists(at / name):
                yield at / name
        if at in (top, at.parent):
            return
        at = at.parent


def replace_file(path: Path, data: bytes, mode: int | None = None, *, durable: bool = True) -> None:
    """Put `data` at `path` by rename, keeping the mode of what was there unless one is given.

    `durable` has it on the disk before it gets the name, so that a power cut leaves the old content or the new one;
    what can be made again does without.
    """
    if mode is not None and not mode & 0o077:
        make_private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
    temporary = path.with_name(f".{path.name}.{random_hex(8)}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            if durable:
                handle.flush()
                os.fsync(fd)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, readable by this user only. Raises: OSError."""
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk. Raises: OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def remove_tree(top: Path) -> None:
    """Remove a folder as far as possible, however deep it is; links are removed, never followed.

    `shutil.rmtree` recurses for each level, and an agent can nest more levels than Python or the kernel supports: here
    each folder's subfolders are moved up to the top before it is removed.
    """
    with contextlib.suppress(OSError):
        fd = os.open(top, _FOLDER)
        try:
            _empty_folder(fd)
        finally:
            os.close(fd)
        top.rmdir()


def _empty_folder(top: int) -> None:
    waiting = _remove_files(top, top)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            fd = os.open(name, _FOLDER, dir_fd=top)
            try:
                waiting += _remove_files(fd, top)
            finally:
                os.close(fd)
            os.rmdir(name, dir_fd=top)


def _remove_files(fd: int, top: int) -> list[str]:
    """Remove the files of a folder, move its folders to the top, and return their names there."""
    folders = []
    with os.scandir(fd) as rows:
        entries = [(row.name, row.is_dir(follow_symlinks=False)) for row in rows]
    for name, is_folder in entries:
        with contextlib.suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=fd)
            elif fd == top:
                folders.append(name)
            else:
                moved = f"{_MOVED}{random_hex(16)}"
                os.rename(name, moved, src_dir_fd=fd, dst_dir_fd=top)
                folders.append(moved)
    return folders
