"""Inspects git's lock files (owner, age, whether the holder is alive) and removes stale ones of refs git nexus owns.

Git takes a lock by creating a file and releases it by renaming or removing it. A killed process leaves the file behind,
and every later git command fails. Locks on refs and worktrees that only git nexus writes, and those that a note of a
killed process proves to be ours, are removed once no process that could hold them is alive; other locks are reported.
"""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.randomness import random_hex
from gitnexus.git.child import GitFailed, git_error_line, is_lock_held, run_git
from gitnexus.git.disk_errors import with_disk_error
from gitnexus.git.lock_notes import NoteOfDead, noted_ref_change, notes_of_dead
from gitnexus.git.objects import UNMOVED, RefLocked

# Long for any honest holder of a ref; where the system does not tell who lives, longer still.
_YOUNG, _YOUNG_UNSEEN = 2.0, 60.0
_PATIENCE = 5.0
_LONGEST_CHANGE = 60.0
_OURS = re.compile(r"refs/(nexus|nexus-sync|heads/nexus|remotes/[^/]+/nexus)/")
_RUN_LOCK = re.compile(r"worktrees/([^/]+)/(HEAD|index|ORIG_HEAD)\.lock")
_PACKED, _NEW_PACKED, _CONFIG = "packed-refs.lock", "packed-refs.new", "config.lock"
# These guard more than what is ours: they are ours if they were made while a change of ours went on that was killed.
_SHARED = (_PACKED, _NEW_PACKED, _CONFIG, "shallow.lock")
_NAMED = re.compile(rb"(?:'([^'\n]+\.lock)'|unable to create file ([^'\n]+/packed-refs\.new)): File exists")
_NO_FOLDER = re.compile(rb"unable to create directory for ([^'\n]+)")
_TOP = ("HEAD.lock", "ORIG_HEAD.lock", "index.lock", *_SHARED)
# These change nothing, or are services that stay. `git nexus` itself is a child of `git`.
_READERS = frozenset((b"nexus", b"log", b"diff", b"show", b"blame", b"cat-file", b"fsmonitor--daemon", b"status"))


@dataclass(frozen=True, slots=True)
class LockFile:
    """A lock file: `name` below the git folder; `holder` describes a living process that may hold it.

    `ours` is True if only git nexus writes what it guards, if a git nexus that has ended is known to have left it, or
    if nobody can hold it; `owner` names the one that left it, if a note does.
    """

    path: Path
    name: str
    seconds: float
    ours: bool
    holder: str
    seen: bool
    owner: str = ""

    @property
    def is_left(self) -> bool:
        """True if no living process holds it."""
        return not self.holder and self.seconds > (_YOUNG if self.seen else _YOUNG_UNSEEN)


def find_locks(common_dir: Path) -> list[LockFile]:
    """Return every lock file of a repository's refs, index and worktrees."""
    found = [common_dir / name for name in _TOP]
    found += sorted((common_dir / "refs").rglob("*.lock"))
    found += sorted((common_dir / "worktrees").glob("*/*.lock"))
    return [lock for path in found if (lock := look_at_lock(common_dir, path)) is not None]


def look_at_lock(common_dir: Path, path: Path) -> LockFile | None:
    """Return what is known of a lock file, or None if it does not exist (any more)."""
    try:
        seconds = time.time() - path.lstat().st_mtime
        name = path.resolve().relative_to(common_dir.resolve()).as_posix()
    except (OSError, ValueError):
        return None
    seen = Path("/proc/self/cmdline").exists()
    holder = next(_holders(common_dir, path), "") if seen else ""
    owner = _owner(common_dir, name, time.time() - seconds)
    ours = _is_ours(common_dir, name) or owner is not None
    return LockFile(path, name, seconds, ours, holder, seen, owner or "")


def put_lock_aside(common_dir: Path, lock: LockFile) -> Path:
    """Move a lock file into the trash and return its new path. Raises: OSError."""
    aside = common_dir / "nexus" / "trash" / f"{lock.name.replace('/', '-')}-{random_hex(8)}"
    aside.parent.mkdir(parents=True, exist_ok=True)
    return lock.path.rename(aside)


def break_left_lock(common_dir: Path, path: Path, young: float = _YOUNG) -> bool:
    """Move a lock of ours aside if it is not `young` and no process holds it; return True if it is removed now."""
    with contextlib.suppress(OSError):
        if time.time() - path.lstat().st_mtime <= young:
            return False
    lock = look_at_lock(common_dir, path)
    if lock is None:
        return not os.path.lexists(path)
    if not (lock.ours and lock.is_left):
        return False
    with contextlib.suppress(FileNotFoundError):
        put_lock_aside(common_dir, lock)
    return True


def break_worktree_locks(common_dir: Path, worktree: str) -> None:
    """Break the locks that a killed process left on index and HEAD of a run's worktree."""
    for name in ("index.lock", "HEAD.lock", "ORIG_HEAD.lock"):
        path = common_dir / "worktrees" / worktree / name
        if os.path.lexists(path):
            with contextlib.suppress(OSError):
                break_left_lock(common_dir, path)


def break_named_locks(common_dir: Path, stderr: bytes) -> bool:
    """Break all locks that git's error output names; return True if there were any and all are removed now."""
    named = _named_locks(stderr)
    return bool(named) and all(outwait_left_lock(common_dir, path) for path in named)


def outwait_left_lock(common_dir: Path, path: Path) -> bool:
    """Break a lock of ours that no process holds as soon as it is old enough; return True if it is removed now."""
    deadline = time.monotonic() + _PATIENCE
    while not break_left_lock(common_dir, path):
        lock = look_at_lock(common_dir, path)
        if lock is None:
            return not os.path.lexists(path)
        if lock.holder or not (lock.ours and lock.seen) or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def break_server_locks(stderr: bytes) -> str:
    """Break the locks that a push met on a server on this machine; return a description of what still blocks."""
    words = []
    for path in _named_locks(stderr):
        above = next((one for one in path.parents if (one / "HEAD").is_file() and (one / "objects").is_dir()), None)
        # Its disk may be shared with machines whose processes are not seen here.
        if above is None or not break_left_lock(above, path, _YOUNG_UNSEEN):
            words.append(f"{path} exists on the server; if no push is running, somebody there has to remove it")
    return "; ".join(words)


def clear_lock(common_dir: Path, path: Path, since: float | None = None) -> None:
    """Wait a moment until a lock file is removed. One newer than `since` that no process holds is moved aside.

    Raises: RefLocked, which names the lock and what to do.
    """
    deadline = time.monotonic() + _PATIENCE
    while os.path.lexists(path):
        with contextlib.suppress(OSError):
            made = path.lstat().st_mtime
            lock = look_at_lock(common_dir, path) if since is not None and made >= since - _YOUNG else None
            if lock is not None and lock.is_left:
                put_lock_aside(common_dir, lock)
                return
        if time.monotonic() > deadline:
            lock = look_at_lock(common_dir, path)
            if lock is not None:
                raise locked_error(lock)
        time.sleep(0.05)


def break_locks_of_killed(common_dir: Path) -> None:
    """Break the locks that a change of ours left, those on refs that are never written again, too."""
    notes = list(notes_of_dead(common_dir))
    for lock in find_locks(common_dir) if notes else []:
        made = time.time() - lock.seconds
        if lock.ours and any(_is_noted(note, lock.name, made) or _is_meanwhile(note, made) for note in notes):
            with contextlib.suppress(OSError):
                outwait_left_lock(common_dir, lock.path)
    for note in notes:
        # A lock that stays, because it cannot be removed or may be held, stays known as ours.
        if not any(os.path.lexists(common_dir / name) for name in note.locks):
            with contextlib.suppress(OSError):
                note.file.unlink(missing_ok=True)


def _owner(common_dir: Path, name: str, made: float) -> str | None:
    """Return who left a lock that was made at a time, by the notes of those that have ended; None if none tells."""
    for note in notes_of_dead(common_dir):
        if _is_noted(note, name, made) or (
            _is_meanwhile(note, made) and (name in _SHARED or _is_ours(common_dir, name))
        ):
            return note.who
    return None


def _is_noted(note: NoteOfDead, name: str, made: float) -> bool:
    """True if a note names a lock, and it was not made after that."""
    return name in note.locks and made <= note.since + _YOUNG


def _is_meanwhile(note: NoteOfDead, made: float) -> bool:
    """True if a lock was made shortly before, or while, the change of a note was under way."""
    return note.since - _YOUNG <= made <= note.since + _LONGEST_CHANGE


def delete_refs(git_dir: Path, refs: Mapping[str, str]) -> None:
    """Delete refs that are at the given commits; one that moved meanwhile keeps all of them. Raises: RefLocked, …."""
    orders = "".join(f"delete {ref} {oid}\n" for ref, oid in refs.items())
    if not orders:
        return
    done = run_on_refs("update-ref", "--no-deref", "--stdin", git_dir=git_dir, stdin=orders.encode())
    if done.returncode != 0 and b"but expected" not in done.stderr:
        raise _ref_error(git_dir, "update-ref", done.stderr)


def run_on_refs(*argv: str, git_dir: Path, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run a git command that changes refs; break locks of ours that a dead process left, and run it again.

    Waits a moment for a lock that is only just there.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        with noted_ref_change(git_dir) as note:
            done = run_git(*argv, git_dir=git_dir, stdin=stdin)
            note.note_end(done)
        if done.returncode == 0 or not is_lock_held(done.stderr) or time.monotonic() > deadline:
            return done
        if not break_named_locks(git_dir, done.stderr):
            time.sleep(0.1)


def change_refs(*argv: str, git_dir: Path, stdin: bytes = b"") -> None:
    """Call `run_on_refs`. Raises: RefLocked, which names the lock and what to do, and GitFailed."""
    done = run_on_refs(*argv, git_dir=git_dir, stdin=stdin)
    if done.returncode != 0:
        raise _ref_error(git_dir, argv[0], done.stderr)


def run_on_config(*argv: str, git_dir: Path) -> "subprocess.CompletedProcess[bytes]":
    """Run a `git config` that writes; break the lock of the config if it is ours and a dead process left it."""
    while True:
        with noted_ref_change(git_dir) as note:
            done = run_git(*argv, git_dir=git_dir)
            note.note_end(done)
        if (
            done.returncode == 0
            or not _is_config_locked(done.stderr)
            or not outwait_left_lock(git_dir, git_dir / _CONFIG)
        ):
            return done


def config_error(git_dir: Path, stderr: bytes) -> GitFailed | RefLocked:
    """Return the error for a `git config` that failed to write; it names the lock that is in the way, if one is."""
    lock = look_at_lock(git_dir, git_dir / _CONFIG) if _is_config_locked(stderr) else None
    return locked_error(lock) if lock is not None else GitFailed(f"git config failed: {git_error_line(stderr)}")


def _is_config_locked(stderr: bytes) -> bool:
    return b"could not lock config file" in stderr and b": File exists" in stderr


def _ref_error(git_dir: Path, word: str, stderr: bytes) -> GitFailed | RefLocked:
    """Return the error for a failed change of refs; it names the lock that is in the way, if one is."""
    locks = [look_at_lock(git_dir, path) for path in _named_locks(stderr)]
    for lock in locks:
        if lock is not None:
            return locked_error(lock)
    words = f"git {word} failed: {git_error_line(stderr)}{_why_no_folder(stderr)}"
    return GitFailed(with_disk_error(words, stderr, git_dir), hint=UNMOVED)


def _why_no_folder(stderr: bytes) -> str:
    """Return the system's reason when git only says that it could not create the folder of a ref."""
    for raw in _NO_FOLDER.findall(stderr):
        try:
            os.makedirs(os.path.dirname(raw), exist_ok=True)  # noqa: PTH103, PTH120 - bytes
        except OSError as exc:
            return f": {exc.strerror}"
    return ""


def lock_hint(common_dir: Path, stderr: bytes) -> str:
    """Return the hint for the lock that git's error output names; for a young lock, that it will go away."""
    for path in _named_locks(stderr):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _YOUNG and (lock := look_at_lock(common_dir, path)) is not None:
                return f"{lock.name} has existed for {int(lock.seconds)} s{_by(lock)}: {what_to_do(lock)}"
    return "run the command again"


def _named_locks(stderr: bytes) -> list[Path]:
    """Return the locks that git's error output says exist."""
    return [Path(os.fsdecode(lock or new)) for lock, new in _NAMED.findall(stderr)]


def what_to_do(lock: LockFile) -> str:
    """Return the hint for a lock."""
    if lock.holder:
        return "wait until that process ends, then run the command again"
    return f"if no git runs here, it was left by a killed one: rm '{lock.path}'"


def who_left(lock: LockFile) -> str:
    """Return who left a lock that no living process holds, as far as it is known."""
    return f"left by {lock.owner}, which has ended" if lock.owner else "and no process that could hold it is alive"


def locked_error(lock: LockFile) -> RefLocked:
    """Return the error that names a lock and what to do."""
    return RefLocked(f"{lock.name} has existed for {int(lock.seconds)} s{_by(lock)}", hint=what_to_do(lock))


def _by(lock: LockFile) -> str:
    return f", perhaps of {lock.holder}" if lock.holder else ""


def _is_ours(common_dir: Path, name: str) -> bool:
    worktree = _RUN_LOCK.fullmatch(name)
    if worktree is not None:
        return (common_dir / "worktrees" / worktree[1] / "nexus" / "run").exists()
    if name == _NEW_PACKED:  # git writes it only while it holds the lock of all refs
        return not os.path.lexists(common_dir / _PACKED)
    return _OURS.match(name) is not None


def _holders(common_dir: Path, lock: Path) -> Iterator[str]:
    """Yield the living processes that may hold a lock: those that have it open, and gits at work in this repository."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            name = (process / "comm").read_text(errors="replace").strip()
            writes = name.startswith("git") and name != "git-nexus" and _READERS.isdisjoint(words)
            if (writes and _is_near(process, words, common_dir)) or _has_open(process, lock):
                yield f"{name} ({process.name})"


def _is_near(process: Path, words: list[bytes], common_dir: Path) -> bool:
    """Return True if a git process may work in this repository; one with an unknown folder may."""
    top = common_dir.resolve()
    given = [word.partition(b"=")[2] for word in words if word.startswith(b"--git-dir=")]
    if given:
        return Path(os.fsdecode(given[0])).resolve().is_relative_to(top)
    try:
        place = (process / "cwd").readlink()
    except PermissionError:
        return True
    places = [top.parent if top.name == ".git" else top]
    for link in (top / "worktrees").glob("*/gitdir"):
        places.append(Path(link.read_text(errors="surrogateescape").strip()).parent)
    return b"-C" in words or any(place.is_relative_to(one) for one in places)


def _has_open(process: Path, lock: Path) -> bool:
    try:
        numbers = os.listdir(process / "fd")
    except OSError:
        return False
    for number in numbers:
        with contextlib.suppress(OSError):
            if (process / "fd" / number).readlink() == lock:
                return True
    return False
