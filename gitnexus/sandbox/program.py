"""Resolves a command name to the file that the sandbox would run, with its real path and the digest of its content."""

import hashlib
import os
import stat
import time

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.sandbox.spec import is_within


class ResolvedProgram(Record):
    """A file that can be executed: its real path, and "sha256:" with the digest of its content."""

    path: str
    digest: str


def resolve_program(name: str, path: str, cwd: str, root: str, *, own: bool = False) -> ResolvedProgram:
    """Return the file for `name`: a path from `cwd`, or a name looked up in the folders of `path`.

    A name is never resolved into the worktree `root`, not by a link either, unless the policy allows it (`own`).
    Raises: Invalid, NotFound.
    """
    if not name or "\0" in name:
        raise Invalid("a command needs a program as its first word")
    if "/" in name:
        return _read_program(os.path.join(cwd, name), name)
    for folder in path.split(":"):
        if not folder.startswith("/"):
            continue  # an empty or relative one would mean wherever the command stands
        found = os.path.join(folder, name)
        if not os.access(found, os.X_OK) or not os.path.isfile(found):
            continue
        inside = is_within(os.path.realpath(folder), root) or is_within(os.path.realpath(found), root)
        if own or not inside:
            return _read_program(found, name)
    raise NotFound(
        f"there is no program {one_line(name, 80)} in the system's folders",
        hint="a program of the worktree is called by its path, like ./run",
    )


_known: dict[tuple[int, ...], str] = {}
_SETTLED = 2_000_000_000


def _read_program(path: str, name: str) -> ResolvedProgram:
    real = os.path.realpath(path)
    try:
        number = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        raise NotFound(f"there is no program {one_line(name, 80)}: {exc.strerror}") from exc
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode) or not os.access(real, os.X_OK):
        os.close(number)
        raise Invalid(f"{one_line(name, 80)} cannot be executed")
    with os.fdopen(number, "rb") as file:
        # The change time moves with every write and cannot be set back by whoever wrote; but it ticks in steps, so
        # a file that was changed just now is not yet to be recognised by it.
        key = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        digest = _known.get(key) or "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    if time.time_ns() - about.st_ctime_ns > _SETTLED:
        _known[key] = digest
    return ResolvedProgram(path=real, digest=digest)
