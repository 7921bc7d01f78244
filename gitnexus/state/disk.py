"""Reads, writes and lists files below one root folder without ever following a link, because an agent may plant one."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.base.errors import Failed
from gitnexus.base.randomness import random_hex
from gitnexus.state.swap import put_in_place

if TYPE_CHECKING:
    from pathlib import Path  # the hooks of harnesses do without it, and save a fifth of their time

# What could not merge, or came in between, is kept beside its file under this name.
KEPT_MARK = ".mine-"
TEMPORARY = ".nexus-tmp-"
# How much older than it is a file is made, in nanoseconds.
_PAST = 1_000_000_000
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileStat(NamedTuple):
    """The stat fields that tell an untouched file from an edited one without reading it."""

    size: int
    mtime: int
    ctime: int

    @classmethod
    def of(cls, found: os.stat_result) -> "FileStat":
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Obstructed(Failed):
    """Something that is not a regular folder or file is where one must be."""

    name = "E_OBSTRUCTED"


@contextlib.contextmanager
def open_folder(root: "Path | str", parts: list[str], *, make: bool = False) -> Iterator[int]:
    """Open root/parts… one part at a time, without following links. Raises: Obstructed, FileNotFoundError."""
    fd = _open_folder(str(root), None, make)
    try:
        for part in parts:
            below = _open_folder(part, fd, make)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _open_folder(name: str, dir_fd: int | None, make: bool) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=dir_fd)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as exc:
        if exc.errno in (errno.ENOTDIR, errno.ELOOP):
            raise Obstructed(f"{name} is a link or a file where a folder must be", hint="move it away") from exc
        raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=dir_fd)
    return _open_folder(name, dir_fd, make=False)


def stat_plain_file(fd: int, name: str) -> FileStat | None:
    """Return the stat of the regular file `name` in an open folder, None if it is absent. Raises: Obstructed."""
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise Obstructed(f"{name} is not a plain file", hint="move it away")
    return FileStat.of(found)


def load_file(fd: int, name: str, limit: int) -> tuple[bytes, FileStat] | None:
    """Return the bytes and stat of a regular file, None if it is absent. Raises: Obstructed."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Obstructed(f"it cannot be read: {exc.strerror}") from exc
    with os.fdopen(file, "rb", buffering=0) as handle:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Obstructed("it is not a plain file")
        if found.st_size > limit:
            raise Obstructed(f"it is larger than {limit // 2**20} MiB")
        data = handle.readall()
        if FileStat.of(os.fstat(file)) != FileStat.of(found):
            raise Obstructed("it is being written just now")
    return data, FileStat.of(found)


def store_file(fd: int, name: str, data: bytes, over: FileStat | None = None) -> FileStat:
    """Write `data` to `name` in an open folder atomically. Raises: OSError.

    `over` is the file that may be replaced. One that somebody else put there a moment ago is kept beside it.
    """
    temporary = TEMPORARY + random_hex(12)
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=fd)
    try:
        try:
            written = os.write(file, data)
            while written < len(data):
                written += os.write(file, data[written:])
            # A second in the past: any edit, even an immediate one, changes the time.
            past = time.time_ns() - _PAST
            os.utime(file, ns=(past, past))
        finally:
            os.close(file)
        if put_in_place(fd, temporary, name, over=over is not None):
            _keep_or_drop_displaced(fd, temporary, name, over)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=fd)
        raise
    return FileStat.of(os.stat(name, dir_fd=fd, follow_symlinks=False))


def is_written_here(found: FileStat) -> bool:
    """Return True for the time that `store_file` gives to files; who writes with another program does not set it."""
    return found.ctime - found.mtime >= _PAST * 0.9


def _keep_or_drop_displaced(fd: int, displaced: str, name: str, over: FileStat | None) -> None:
    """Delete the displaced file if it is the one that was examined before; otherwise keep it."""
    found = os.stat(displaced, dir_fd=fd, follow_symlinks=False)
    if over is not None and (found.st_size, found.st_mtime_ns) == (over.size, over.mtime):
        os.unlink(displaced, dir_fd=fd)
    else:
        os.rename(displaced, f"{name}{KEPT_MARK}{random_hex(7)}", src_dir_fd=fd, dst_dir_fd=fd)


def load_path(root: "Path | str", path: str, limit: int) -> tuple[bytes, FileStat] | None:
    """Return the bytes and stat of root/path, None if it is absent. Raises: Obstructed."""
    *parts, name = path.split("/")
    try:
        with open_folder(root, parts) as fd:
            return load_file(fd, name, limit)
    except FileNotFoundError:
        return None


def prune_empty_folders(root: "Path | str", parts: list[str]) -> None:
    """Remove the folder root/parts… and its parents as long as they are empty."""
    for depth in range(len(parts), 0, -1):
        try:
            with open_folder(root, parts[: depth - 1]) as fd:
                os.rmdir(parts[depth - 1], dir_fd=fd)
        except (OSError, Obstructed):
            return


def scan_files(root: "Path | str", wanted: frozenset[str]) -> Iterator[tuple[str, FileStat | None]]:
    """Yield every file below the `wanted` top-level names with its stat; None for what is not a regular file."""
    pending = [("", str(root))]
    while pending:
        prefix, place = pending.pop()
        try:
            rows = os.scandir(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # a folder that may not be read: its files are neither here nor gone
            yield prefix.rstrip("/"), None
            continue
        with rows:
            for row in rows:
                if not prefix and row.name not in wanted:
                    continue
                if row.is_dir(follow_symlinks=False):
                    if row.name != ".git":
                        pending.append((f"{prefix}{row.name}/", row.path))
                elif row.is_file(follow_symlinks=False):
                    yield f"{prefix}{row.name}", FileStat.of(row.stat(follow_symlinks=False))
                else:
                    yield f"{prefix}{row.name}", None
