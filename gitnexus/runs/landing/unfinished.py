"""A landing that was killed half-way: recognised by a note in the git folder, undone before the next one begins.

Git writes the files of a merge before it moves the branch. Until then everything is in the run's branch, so going back
to HEAD loses nothing. Only files that hold what the landing was writing are put back; all others are the user's.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import now
from gitnexus.base.errors import Busy, Invalid
from gitnexus.base.record import Record
from gitnexus.git import Repo, users
from gitnexus.git.commits import tree_of
from gitnexus.git.private import PrivateGit
from gitnexus.git.revisions import head_of
from gitnexus.git.rows import GITLINK, LINK, TreeChange, blob, difference

_SECONDS = 5.0
_YOUNG = 60.0
# These only look, or are services that stay: `git nexus land` itself is a child of `git`.
_READERS = frozenset((b"nexus", b"log", b"diff", b"show", b"blame", b"cat-file", b"fsmonitor--daemon", b"status"))


class LandingNote(Record):
    """What a landing is about to do to the checkout: from `head` to the tree `result`, by merging `target`."""

    run: str
    head: str
    target: str
    result: str


@contextlib.contextmanager
def noted_landing(repo: Repo, note: LandingNote) -> Iterator[None]:
    """Keep the note, locked, while the checkout is changed. It stays if a merge that could not be undone is there.

    Raises: Busy if somebody else lands in this checkout.
    """
    file = _file_of(repo)
    file.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(fd, note.run)
        os.ftruncate(fd, 0)
        os.pwrite(fd, document(note.plain()), 0)
        try:
            yield
        finally:
            if not _is_merging(repo, note):
                file.unlink(missing_ok=True)
    finally:
        os.close(fd)


def undo_unfinished_landing(repo: Repo, git: PrivateGit, place: Path) -> bool:
    """Put the checkout back to HEAD where a killed landing left it between; False if there was none.

    Raises: Busy while that landing, or another git in this checkout, is still at work.
    """
    file = _file_of(repo)
    try:
        fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        _lock(fd, "a run")
        note = _read_note(fd)
        if note is not None and head_of(repo, git) == note.head:
            _wait_for_git(repo, place)
            _put_index_lock_aside(repo)
            if _is_merging(repo, note):
                users.must(place, "merge", "--abort")
            _restore_files(git, place, note)
        file.unlink(missing_ok=True)
        return note is not None
    finally:
        os.close(fd)


def _file_of(repo: Repo) -> Path:
    return repo.git_dir / "nexus" / "landing.json"


def _lock(fd: int, run: str) -> None:
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
    """Return the note, None where it was not written whole: then nothing was begun."""
    with contextlib.suppress(Invalid):
        return LandingNote.from_value(parse(os.pread(fd, 65536, 0)), "landing.json")
    return None


def _is_merging(repo: Repo, note: LandingNote) -> bool:
    """True if git is in the middle of the merge that the note is about."""
    with contextlib.suppress(OSError):
        return (repo.git_dir / "MERGE_HEAD").read_text(encoding="ascii", errors="replace").strip() == note.target
    return False


def _wait_for_git(repo: Repo, place: Path) -> None:
    """Wait for the git that a killed landing left behind, or another that writes here. Raises: Busy."""
    deadline = time.monotonic() + _SECONDS
    while _is_git_writing(place, repo):
        if time.monotonic() > deadline:
            raise Busy(f"another git is at work in {place}", hint="let it end, then run the command again")
        time.sleep(0.02)


def _is_git_writing(place: Path, repo: Repo) -> bool:
    """True if a git that may change the checkout runs in it; without /proc, while the lock of its index is young."""
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
                if _READERS.isdisjoint(words) and (process / "cwd").resolve().is_relative_to(place.resolve()):
                    return True
    return False


def _put_index_lock_aside(repo: Repo) -> None:
    """Move away the lock of the index that a killed git left: nobody who could hold it is alive."""
    aside = repo.common_dir / "nexus" / "trash" / f"index.lock-{now():%Y%m%dT%H%M%S%f}"
    aside.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        (repo.git_dir / "index.lock").rename(aside)


def _restore_files(git: PrivateGit, place: Path, note: LandingNote) -> None:
    rows = difference(git, tree_of(git, note.head), note.result)
    ours = [row for row in rows if _is_ours(git, place, row)]
    if not ours:
        return
    names = b"".join(os.fsencode(row.path) + b"\0" for row in ours)
    given = ("--pathspec-from-file=-", "--pathspec-file-nul")
    users.must(place, "--literal-pathspecs", "reset", "--quiet", *given, stdin=names)
    for row in ours:
        if not row.old_mode:
            (place / row.path).unlink(missing_ok=True)
            _remove_empty_folders(place, row.path)
    kept = b"".join(os.fsencode(row.path) + b"\0" for row in ours if row.old_mode)
    if kept:
        users.must(place, "--literal-pathspecs", "checkout", "--quiet", *given, stdin=kept)


def _is_ours(git: PrivateGit, place: Path, row: TreeChange) -> bool:
    """True if the file is what the landing made of it, or the beginning of that; a submodule never."""
    path = place / row.path
    if GITLINK in (row.old_mode, row.new_mode):
        return False
    if not row.new_mode:
        return not os.path.lexists(path)
    wanted = blob(git, row.new_blob)
    if path.is_symlink():
        return row.new_mode == LINK and os.fsencode(path.readlink()) == wanted
    if not path.is_file():
        return not os.path.lexists(path) and bool(row.old_mode)  # git had taken the old one away
    if wanted.startswith(path.read_bytes()):
        return True
    # Line endings and filters: what git would store of it.
    stored = users.run(place, "hash-object", "--", row.path)
    return stored.returncode == 0 and stored.stdout.decode().strip() == row.new_blob


def _remove_empty_folders(place: Path, path: str) -> None:
    for folder in list(Path(path).parents)[:-1]:
        try:
            (place / folder).rmdir()
        except OSError:
            return
