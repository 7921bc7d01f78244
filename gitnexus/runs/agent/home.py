"""Files in the private folder of a run. Its agent writes there too, so no link of its making is followed."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gitnexus.base.chance import token
from gitnexus.base.errors import Failed

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGEST = 1024 * 1024


def put(private: Path, name: str, data: bytes) -> None:
    """Write a file below the private folder, for its owner alone. Raises: Failed."""
    try:
        with _folder(private, PurePosixPath(name).parent.parts) as place:
            last = PurePosixPath(name).name
            beside = f".{token(8)}"
            number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place)
            with os.fdopen(number, "wb") as file:
                file.write(data)
            _out_of_the_way(place, last, folder=False)
            os.rename(beside, last, src_dir_fd=place, dst_dir_fd=place)
    except OSError as exc:
        raise Failed(f"{name} of the agent's own settings cannot be written: {exc.strerror}") from exc


def drop(private: Path, name: str) -> None:
    """Delete a file below the private folder, if it is there."""
    with contextlib.suppress(OSError), _folder(private, PurePosixPath(name).parent.parts) as place:
        os.unlink(PurePosixPath(name).name, dir_fd=place)


@contextlib.contextmanager
def lent(private: Path, home: Path, login: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, ...]]:
    """Copy sign-ins of the person's home into the private folder; yield which. At the end the copies are deleted.

    What the program does to its copy does not come back. Raises: Failed.
    """
    there = [(source, place, data) for source, place in login if (data := _sign_in(home / source)) is not None]
    try:
        for _, place, data in there:
            put(private, place, data)
        yield tuple(source for source, _, _ in there)
    finally:
        for _, place, _ in there:
            drop(private, place)


def _sign_in(path: Path) -> bytes | None:
    """Return what a file holds that is the user's own; a link is one of theirs, and followed."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            usable = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_size <= _LARGEST
            return file.read() if usable else None
    except OSError:
        return None


@contextlib.contextmanager
def _folder(private: Path, names: tuple[str, ...]) -> Iterator[int]:
    """Open a folder below the private one, made where it is missing; what is no folder is set aside."""
    at = os.open(private, _FOLDER)
    try:
        for name in names:
            _out_of_the_way(at, name, folder=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=at)
            below = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _out_of_the_way(place: int, name: str, *, folder: bool) -> None:
    """Set aside what lies under a name and is of another kind than what is to come."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) != folder:
            os.rename(name, f".aside-{token(8)}", src_dir_fd=place, dst_dir_fd=place)
