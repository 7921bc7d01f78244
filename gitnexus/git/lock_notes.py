"""Writes notes of changes that take git's locks, and reads those that dead processes left.

A note in the git folder says who makes a change and when; it is locked while the change goes on. A killed process
leaves its note behind, and a note stays where git could not remove a lock: by both the locks are known as ours later.
"""

import contextlib
import fcntl
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.randomness import random_hex

if TYPE_CHECKING:
    import subprocess

# What git's error output has where it could not remove a file.
UNREMOVED = b"unable to unlink"
_NOTES = "ref-changes"
_LONGEST_NOTE = 65536
# The time of a new file is that of the last tick of the kernel's clock, on some systems of a whole second.
_CLOCK_STEP = 1.0
# What a server says begins with `remote: `: it names no lock of ours.
_NOT_REMOVED = re.compile(rb"(?m)^(?:warning|error): unable to unlink '([^'\n]+\.lock)': ")


@dataclass(frozen=True, slots=True)
class NoteOfDead:
    """The note of a process that has ended: when it wrote it, its own words, and the locks that it left by name."""

    file: Path
    since: float
    who: str
    locks: frozenset[str]


class RefChangeNote:
    """A note that refs change now; `note_end` says how the git that did it ended."""

    def __init__(self, common_dir: Path) -> None:
        self._common_dir = common_dir
        self.is_kept = False
        self.left: list[str] = []

    def note_end(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        """Keep the note if git was killed: its locks are left alone while the process that started it is alive."""
        self.is_kept = self.is_kept or done.returncode < 0 or b"died of signal" in done.stderr

    def note_locks(self, locks: Iterable[Path]) -> None:
        """Keep the note, with the names of those locks that are still there: the change that took them is over."""
        self.left += [lock.relative_to(self._common_dir).as_posix() for lock in locks if os.path.lexists(lock)]
        self.is_kept = self.is_kept or bool(self.left)


@contextlib.contextmanager
def noted_ref_change(common_dir: Path) -> Iterator[RefChangeNote]:
    """Hold a note while refs change: by it, the locks that a kill leaves are known as ours and looked for."""
    file, note = common_dir / "nexus" / _NOTES / random_hex(8), RefChangeNote(common_dir)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:  # the change itself tells why nothing can be written here
        yield note
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):
            os.write(fd, _own_words())
        yield note
    finally:
        with contextlib.suppress(OSError):
            if note.left:
                os.write(fd, "".join(f"{name}\n" for name in note.left).encode("utf-8", "surrogateescape"))
            elif not note.is_kept:
                file.unlink(missing_ok=True)
        os.close(fd)


def remove_left_locks(place: Path, stderr: bytes, since: float) -> None:
    """Remove the locks that a git of ours, which has ended, could not; `place` and `since`: where and when it started.

    A lock that cannot be removed now either is noted, and the next command removes it.
    """
    for lock in _locks_not_removed(place, stderr):
        with contextlib.suppress(OSError):
            if lock.lstat().st_mtime >= since - _CLOCK_STEP:
                lock.unlink()
    note_left_locks(place, stderr)


def note_left_locks(place: Path, stderr: bytes) -> None:
    """Note the locks that are still there of those that git, which has ended, says it could not remove."""
    for lock in _locks_not_removed(place, stderr):
        common_dir = _common_dir_above(lock)
        if common_dir is not None and os.path.lexists(lock):
            with noted_ref_change(common_dir) as note:
                note.note_locks([lock])


def _locks_not_removed(place: Path, stderr: bytes) -> list[Path]:
    locks = [place / os.fsdecode(raw) for raw in _NOT_REMOVED.findall(stderr)]
    return [lock for lock in locks if _common_dir_above(lock) is not None]


def notes_of_dead(common_dir: Path) -> Iterator[NoteOfDead]:
    """Yield the notes of changes whose process is dead, or that are over and left locks."""
    for file in (common_dir / "nexus" / _NOTES).glob("*"):
        with contextlib.suppress(OSError):
            fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                text = os.pread(fd, _LONGEST_NOTE, 0).decode("utf-8", "surrogateescape")
                who, _, locks = text.partition("\n")
                yield NoteOfDead(file, os.fstat(fd).st_mtime, who, frozenset(locks.splitlines()))
            finally:
                os.close(fd)


def _own_words() -> bytes:
    command = next((word for word in sys.argv[1:2] if word.isalnum()), "")
    return f"git nexus {command}".strip().encode() + b", process %d\n" % os.getpid()


def _common_dir_above(lock: Path) -> Path | None:
    return next((one for one in lock.parents if (one / "HEAD").is_file() and (one / "objects").is_dir()), None)
