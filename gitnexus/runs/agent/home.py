"""Writes and deletes files in a run's private folder; follows no links, because the agent can write there too."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gitnexus.base.errors import Failed
from gitnexus.base.randomness import random_hex

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGEST = 1024 * 1024


def write_private_file(private: Path, name: str, data: bytes) -> None:
    """Write a file below the private folder, readable by its owner only. Raises: Failed."""
    try:
        with _opened_private_folder(private, PurePosixPath(name).parent.parts) as place:
            last = PurePosixPath(name).name
            beside = f".{random_hex(8)}"
            number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place)
            with os.fdopen(number, "wb") as file:
                file.write(data)
            _set_aside_other_kind(place, last, folder=False)
            os.rename(beside, last, src_dir_fd=place, dst_dir_fd=place)
    except OSError as exc:
        raise Failed(f"{name} of the agent's own settings cannot be written: {exc.strerror}") from exc


def delete_private_file(private: Path, name: str) -> None:
    """Delete a file below the private folder, if it exists."""
    with contextlib.suppress(OSError), _opened_private_folder(private, PurePosixPath(name).parent.parts) as place:
        os.unlink(PurePosixPath(name).name, dir_fd=place)


@contextlib.contextmanager
def lent_sign_ins(private: Path, home: Path, login: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, ...]]:
    """Copy the user's sign-in files into the private folder; yield their names; delete the copies at the end.

    Changes to a copy are not written back. Raises: Failed.
    """
    there = [(source, place, data) for source, place in login if (data := _read_sign_in(home / source)) is not None]
    try:
        for _, place, data in there:
            write_private_file(private, place, data)
        yield tuple(source for source, _, _ in there)
    finally:
        for _, place, _ in there:
            delete_private_file(private, place)


def _read_sign_in(path: Path) -> bytes | None:
    """Return the content of the user's own file; follows a link, which is the user's too."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            usable = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_size <= _LARGEST
            return file.read() if usable else None
    except OSError:
        return None


@contextlib.contextmanager
def _opened_private_folder(private: Path, names: tuple[str, ...]) -> Iterator[int]:
    """Open a folder below the private one, creating it if necessary; anything else there is set aside."""
    at = os.open(private, _FOLDER)
    try:
        for name in names:
            _set_aside_other_kind(at, name, folder=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=at)
            below = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _set_aside_other_kind(place: int, name: str, *, folder: bool) -> None:
    """Move away an entry of another kind than the expected one."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) != folder:
            os.rename(name, f".aside-{random_hex(8)}", src_dir_fd=place, dst_dir_fd=place)
