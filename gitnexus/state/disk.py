"""Files below one root folder, reached without ever following a link: an agent may have planted one."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gitnexus.base.chance import token
from gitnexus.base.errors import Failed
from gitnexus.state.swap import put_in_place

if TYPE_CHECKING:
    from pathlib import Path  # the hooks of harnesses do without it, and save a fifth of their time

# What could not merge, or came in between, is kept beside its file under this name.
KEPT_MARK = ".mine-"
TEMPORARY = ".nexus-tmp-"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stat(NamedTuple):
    """What tells an untouched file from an edited one without reading it."""

    size: int
    mtime: int
    ctime: int

    @classmethod
    def of(cls, found: os.stat_result) -> "Stat":
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Obstructed(Failed):
    """Something that is not a plain folder or file stands where one must be."""

    name = "E_OBSTRUCTED"


@contextlib.contextmanager
def folder(root: "Path | str", parts: list[str], *, make: bool = False) -> Iterator[int]:
    """Open root/parts… part by part. Raises: Obstructed, FileNotFoundError."""
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


def look(fd: int, name: str) -> Stat | None:
    """Return the stat of the plain file `name` in an open folder, None if nothing is there. Raises: Obstructed."""
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise Obstructed(f"{name} is not a plain file", hint="move it away")
    return Stat.of(found)


def load(fd: int, name: str, limit: int) -> tuple[bytes, Stat] | None:
    """Return a plain file's bytes and stat, None if nothing is there. Raises: Obstructed."""
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
        if Stat.of(os.fstat(file)) != Stat.of(found):
            raise Obstructed("it is being written just now")
    return data, Stat.of(found)


def store(fd: int, name: str, data: bytes, over: Stat | None = None) -> Stat:
    """Put `data` at `name` in an open folder: the old bytes or the new, never between. Raises: OSError.

    `over` is the file that may be replaced. One that somebody put there a moment ago is kept beside it.
    """
    temporary = TEMPORARY + token(12)
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=fd)
    try:
        try:
            written = os.write(file, data)
            while written < len(data):
                written += os.write(file, data[written:])
            # A second in the past: whoever edits the file, even at once, gives it another time.
            past = time.time_ns() - 1_000_000_000
            os.utime(file, ns=(past, past))
        finally:
            os.close(file)
        if put_in_place(fd, temporary, name, over=over is not None):
            _keep_or_drop(fd, temporary, name, over)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=fd)
        raise
    return Stat.of(os.stat(name, dir_fd=fd, follow_symlinks=False))


def _keep_or_drop(fd: int, displaced: str, name: str, over: Stat | None) -> None:
    """Delete the file that was displaced, unless it is not the one that was looked at."""
    found = os.stat(displaced, dir_fd=fd, follow_symlinks=False)
    if over is not None and (found.st_size, found.st_mtime_ns) == (over.size, over.mtime):
        os.unlink(displaced, dir_fd=fd)
    else:
        os.rename(displaced, f"{name}{KEPT_MARK}{token(7)}", src_dir_fd=fd, dst_dir_fd=fd)


def load_path(root: "Path | str", path: str, limit: int) -> tuple[bytes, Stat] | None:
    """Return the bytes and stat of root/path, None if nothing is there. Raises: Obstructed."""
    *parts, name = path.split("/")
    try:
        with folder(root, parts) as fd:
            return load(fd, name, limit)
    except FileNotFoundError:
        return None


def prune(root: "Path | str", parts: list[str]) -> None:
    """Remove the folder root/parts… and its parents as far as they are empty."""
    for depth in range(len(parts), 0, -1):
        try:
            with folder(root, parts[: depth - 1]) as fd:
                os.rmdir(parts[depth - 1], dir_fd=fd)
        except (OSError, Obstructed):
            return


def scan(root: "Path | str", wanted: frozenset[str]) -> Iterator[tuple[str, Stat | None]]:
    """Yield every file below the `wanted` top-level names with its stat; None for what is no plain file."""
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
                    yield f"{prefix}{row.name}", Stat.of(row.stat(follow_symlinks=False))
                else:
                    yield f"{prefix}{row.name}", None
