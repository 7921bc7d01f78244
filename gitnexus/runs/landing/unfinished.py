"""Detects a landing that failed or was killed half-way by its note in the git folder; resets the checkout to HEAD.

Git writes the files of a merge before it moves the branch. Until then everything is in the run's branch, so resetting
to HEAD loses nothing. Only files that contain what the landing was writing are reset; all others are the user's.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Busy, Conflict, Invalid, NexusError
from gitnexus.base.files import sync_file
from gitnexus.base.record import Record
from gitnexus.git import Repo, user_git
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.locks import clear_lock
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import head_branch_ref, resolve_head
from gitnexus.git.tree_diff import GITLINK, LINK, TreeChange, diff_trees, read_blob

_SECONDS = 5.0
_YOUNG = 60.0
# More files than this are not flushed one by one.
_MANY = 200
# Locks in the git folder of a checkout that a merge takes; beside them that of the branch.
_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock")
# Subcommands that only read, or run as services; `git nexus land` itself is a child of `git`.
_READERS = frozenset((b"nexus", b"log", b"diff", b"show", b"blame", b"cat-file", b"fsmonitor--daemon", b"status"))


class GitDied(Conflict):
    """The user's git was killed by a signal in the middle of a landing."""


class LandingNote(Record):
    """What a landing changes in the checkout: from `head` to the tree `result`, by merging `target`."""

    run: str
    head: str
    target: str
    result: str


class LandingUnderWay:
    """`git_died` is set if the user's git was killed by a signal after it had moved the branch."""

    git_died = False


@contextlib.contextmanager
def noted_landing(repo: Repo, place: Path, note: LandingNote) -> Iterator[LandingUnderWay]:
    """Hold the locked note while the checkout changes; if the landing fails, reset the checkout to HEAD.

    The note stays if that is not possible. Locks that a killed git left are removed. Raises: Busy if another process
    lands in this checkout or writes its index, Conflict if a failed landing could not be undone.
    """
    file = _note_file(repo)
    file.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock_note(fd, note.run)
        try:
            clear_lock(repo.common_dir, repo.git_dir / "index.lock")
        except NexusError:
            file.unlink(missing_ok=True)
            raise
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, json_document(note.plain()), 0)
            os.fsync(fd)
            under_way = LandingUnderWay()
            yield under_way
        except BaseException as failed:
            _undo_failed_landing(repo, place, note, failed)
            file.unlink(missing_ok=True)
            raise
        if under_way.git_died or _is_merging(repo, note):
            _clear_landing_locks(repo, os.fstat(fd).st_mtime)
            _reset_to_head(repo, place, note)
        _sync_landed_files(repo, place, note)
        file.unlink(missing_ok=True)
    finally:
        os.close(fd)


def undo_unfinished_landing(repo: Repo, place: Path) -> bool:
    """Reset the checkout to HEAD after a killed landing; False if there was none.

    Raises: Busy while that landing, or another git in this checkout, is running; RefLocked.
    """
    file = _note_file(repo)
    try:
        fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        _lock_note(fd, "a run")
        note = _read_note(fd)
        if note is not None:
            _wait_for_git(repo, place)
            _clear_landing_locks(repo, os.fstat(fd).st_mtime)
            _reset_to_head(repo, place, note)
        file.unlink(missing_ok=True)
        return note is not None
    finally:
        os.close(fd)


def unfinished_landing(repo: Repo) -> str:
    """Return the run whose landing in this checkout was killed half-way, "" if there is none or it is at work."""
    try:
        fd = os.open(_note_file(repo), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        note = _read_note(fd)
        return note.run if note is not None else ""
    except BlockingIOError:
        return ""
    finally:
        os.close(fd)


def _undo_failed_landing(repo: Repo, place: Path, note: LandingNote, failed: BaseException) -> None:
    """Undo a landing that failed in this process. Raises: Conflict, then the next landing undoes it."""
    try:
        _wait_for_git(repo, place)
        # Git removes its locks unless it is killed; after a clean failure, a lock belongs to another program.
        _clear_landing_locks(repo, _note_file(repo).stat().st_mtime if isinstance(failed, GitDied) else None)
        _reset_to_head(repo, place, note)
    except NexusError as exc:
        words = failed.message if isinstance(failed, NexusError) else "the landing was stopped"
        first = f"{exc.hint}; " if exc.hint else ""
        raise Conflict(
            f"{words}; and the half could not be undone: {exc.message}",
            hint=f"do not commit it; {first}git nexus land {note.run} takes it back first",
        ) from failed


def _clear_landing_locks(repo: Repo, since: float | None) -> None:
    """Remove the locks that a killed git of the landing left: those newer than `since` that nobody holds."""
    branch = head_branch_ref(repo)
    locks = [repo.git_dir / name for name in _LOCKS] + [repo.common_dir / "packed-refs.lock"]
    for path in [*locks, *([repo.common_dir / f"{branch}.lock"] if branch else [])]:
        clear_lock(repo.common_dir, path, since)


def _reset_to_head(repo: Repo, place: Path, note: LandingNote) -> None:
    """Take back what the landing wrote before HEAD moved; after that, complete what it has written."""
    _drop_emptied_merge(repo)
    with private_git(repo) as git:
        head = resolve_head(repo, git)
        if head == note.head:
            if _is_merging(repo, note):
                user_git.run_user_git_or_raise(place, "merge", "--abort")
            _restore_files(git, place, note)
            return
        if _is_merging(repo, note) and is_ancestor(git, note.target, head):
            user_git.run_user_git_or_raise(place, "merge", "--quit")
        _write_lost_files(git, place, note, head)


def _note_file(repo: Repo) -> Path:
    return repo.git_dir / "nexus" / "landing.json"


def _lock_note(fd: int, run: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as exc:
            if time.monotonic() > deadline:
                raise Busy(
                    f"another process is landing {run} in this checkout", hint="try again when it is done"
                ) from exc
            time.sleep(0.02)


def _read_note(fd: int) -> LandingNote | None:
    """Return the note, None if it was not written completely: then nothing had begun."""
    with contextlib.suppress(Invalid):
        return LandingNote.from_value(parse_json(os.pread(fd, 65536, 0)), "landing.json")
    return None


def _drop_emptied_merge(repo: Repo) -> None:
    """Remove git's notes of a merge if a power cut emptied the one that names it: no git can go on with that."""
    with contextlib.suppress(OSError):
        if not (repo.git_dir / "MERGE_HEAD").read_bytes().strip():
            for name in ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG"):
                (repo.git_dir / name).unlink(missing_ok=True)


def _is_merging(repo: Repo, note: LandingNote) -> bool:
    """True if git is in the middle of the noted merge."""
    with contextlib.suppress(OSError):
        return (repo.git_dir / "MERGE_HEAD").read_text(encoding="ascii", errors="replace").strip() == note.target
    return False


def _wait_for_git(repo: Repo, place: Path) -> None:
    """Wait for git processes that a killed landing left, or others writing here. Raises: Busy."""
    deadline = time.monotonic() + _SECONDS
    while _is_git_writing(place, repo):
        if time.monotonic() > deadline:
            raise Busy(f"another git is at work in {place}", hint="wait until it ends, then run the command again")
        time.sleep(0.02)


def _is_git_writing(place: Path, repo: Repo) -> bool:
    """True if a git that may change the checkout is running in it; without /proc, if its index lock is recent."""
    try:
        processes = [Path("/proc", name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        with contextlib.suppress(OSError):
            return time.time() - (repo.git_dir / "index.lock").stat().st_mtime < _YOUNG
        return False
    for process in processes:
        with contextlib.suppress(OSError):
            if (process / "comm").read_text().startswith("git"):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[1:2] == [b"nexus"] or process.name in (str(os.getpid()), str(os.getppid())):
                    continue  # this process, and the git that started it
                if _READERS.isdisjoint(words) and (process / "cwd").resolve().is_relative_to(place.resolve()):
                    return True
    return False


def _restore_files(git: PrivateGit, place: Path, note: LandingNote) -> None:
    rows = diff_trees(git, tree_of_commit(git, note.head), note.result)
    ours = [row for row in rows if _is_landing_result(git, place, row)]
    if not ours:
        return
    names = b"".join(os.fsencode(row.path) + b"\0" for row in ours)
    given = ("--pathspec-from-file=-", "--pathspec-file-nul")
    user_git.run_user_git_or_raise(place, "--literal-pathspecs", "reset", "--quiet", *given, stdin=names)
    for row in ours:
        if not row.old_mode:
            (place / row.path).unlink(missing_ok=True)
            _remove_empty_folders(place, row.path)
    kept = b"".join(os.fsencode(row.path) + b"\0" for row in ours if row.old_mode)
    if kept:
        user_git.run_user_git_or_raise(place, "--literal-pathspecs", "checkout", "--quiet", *given, stdin=kept)


def _write_lost_files(git: PrivateGit, place: Path, note: LandingNote, head: str) -> None:
    """Write files again of which a power cut left only a beginning, or nothing; all others are the user's."""
    rows = {row.path: row for row in diff_trees(git, tree_of_commit(git, note.head), note.result) if row.new_mode}
    changed = {row.path for row in diff_trees(git, note.result, tree_of_commit(git, head))}
    lost = [path for path, row in rows.items() if path not in changed and _is_cut_short(git, place / path, row)]
    if lost:
        names = b"".join(os.fsencode(path) + b"\0" for path in lost)
        given = ("--pathspec-from-file=-", "--pathspec-file-nul")
        user_git.run_user_git_or_raise(place, "--literal-pathspecs", "checkout", "--quiet", "HEAD", *given, stdin=names)


def _is_cut_short(git: PrivateGit, path: Path, row: TreeChange) -> bool:
    """True if a plain file holds the beginning of what it is to hold, and nothing else."""
    if row.new_mode in (GITLINK, LINK) or path.is_symlink() or not path.is_file():
        return False
    wanted, there = read_blob(git, row.new_blob), path.read_bytes()
    return len(there) < len(wanted) and wanted.startswith(there)


def _sync_landed_files(repo: Repo, place: Path, note: LandingNote) -> None:
    """Wait until what the landing wrote into the checkout is on the disk: git does not, and then it is over."""
    with private_git(repo) as git:
        rows = diff_trees(git, tree_of_commit(git, note.head), note.result)
    paths = [place / row.path for row in rows if row.new_mode and row.new_mode not in (GITLINK, LINK)]
    if len(paths) > _MANY:
        os.sync()  # one wait for all of them
        return
    for path in paths:
        with contextlib.suppress(OSError):  # what cannot be opened was not written by git, or is gone again
            sync_file(path)


def _is_landing_result(git: PrivateGit, place: Path, row: TreeChange) -> bool:
    """True if the file has the content that the landing writes, or a prefix of it; False for submodules."""
    path = place / row.path
    if GITLINK in (row.old_mode, row.new_mode):
        return False
    if not row.new_mode:
        return not os.path.lexists(path)
    wanted = read_blob(git, row.new_blob)
    if path.is_symlink():
        return row.new_mode == LINK and os.fsencode(path.readlink()) == wanted
    if not path.is_file():
        return not os.path.lexists(path) and bool(row.old_mode)  # git had removed the old file
    if wanted.startswith(path.read_bytes()):
        return True
    # Apply line endings and filters: compare what git would store.
    stored = user_git.run_user_git(place, "hash-object", "--", row.path)
    return stored.returncode == 0 and stored.stdout.decode().strip() == row.new_blob


def _remove_empty_folders(place: Path, path: str) -> None:
    for folder in list(Path(path).parents)[:-1]:
        try:
            (place / folder).rmdir()
        except OSError:
            return
