"""An approved patch comes into a plain worktree: all of it is checked first, and what fails midway is taken back.

Only paths that the patch changes are touched, only if they hold exactly what the patch was made from, and no link is
followed. New content is laid out in a folder beside the files and renamed into place, one file at a time.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.chance import token
from gitnexus.base.errors import Conflict, Failed, VerificationFailed
from gitnexus.base.files import remove_tree
from gitnexus.base.text import one_line
from gitnexus.git.objects import blob_id
from gitnexus.git.ondisk import Unfit, content
from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import GITLINK, LINK, TreeChange, blob
from gitnexus.state.disk import TEMPORARY, Obstructed, folder, prune

_Seen = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Step:
    """One path: what was seen there (None: nothing), and the new file laid out for it (None: it goes away)."""

    row: TreeChange
    seen: _Seen | None
    new: str | None

    @property
    def parts(self) -> list[str]:
        return self.row.path.split("/")[:-1]

    @property
    def name(self) -> str:
        return self.row.path.rpartition("/")[2]

    @property
    def replaces(self) -> bool:
        """True if a file or link takes the place of another."""
        return self.seen is not None and self.new is not None and GITLINK not in (self.row.old_mode, self.row.new_mode)


def refreshed(git: PrivateGit, worktree: Path, changes: tuple[TreeChange, ...]) -> int:
    """Bring the changed paths of `worktree` from the old side to the new; return how many files. Raises: Conflict."""
    leaving = {row.path for row in changes if row.old_mode and not row.new_mode}
    seen = [_seen(git, worktree, row, leaving) for row in changes]
    staging = worktree / f"{TEMPORARY}{token(12)}"
    staging.mkdir(mode=0o700)
    undo: list[Callable[[], None]] = []
    try:
        laid = [_laid_out(git, staging, row, at) for at, row in enumerate(changes)]
        steps = [_Step(*three) for three in zip(changes, seen, laid, strict=True)]
        # What goes away first: a file may make room for a folder of the same name, and the other way round.
        for at, step in enumerate(sorted(steps, key=lambda step: step.new is not None)):
            _taken(worktree, staging, step, f"old-{at}", undo)
    except BaseException as exc:
        if not _undone(undo):
            raise Failed(f"the patch failed midway and could not be taken back: {exc}",
                         hint=f"what the changed files held before is in {staging.name}") from exc  # fmt: skip
        remove_tree(staging)
        if isinstance(exc, (OSError, Obstructed)):
            raise Conflict(f"the patch could not be brought into the files, nothing was changed: {exc}") from exc
        raise
    remove_tree(staging)
    return len(steps)


def _undone(undo: list[Callable[[], None]]) -> bool:
    """Go back step by step, as far as it goes; True if that was all the way."""
    whole = True
    for back in reversed(undo):
        try:
            back()
        except (OSError, Obstructed):
            whole = False
    return whole


def _seen(git: PrivateGit, worktree: Path, row: TreeChange, leaving: set[str]) -> _Seen | None:
    """Return what tells the file from any other, or refuse if it is not what the patch was made from."""
    *parts, name = row.path.split("/")
    try:
        with folder(worktree, parts) as fd:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            same = row.old_mode != "" and _is(git, fd, name, found, row)
    except FileNotFoundError:
        if row.old_mode not in ("", GITLINK):
            raise Conflict(f"{one_line(row.path, 80)} is gone from the worktree") from None
        return None
    except Obstructed as exc:
        if any("/".join(parts[:depth]) in leaving for depth in range(1, len(parts) + 1)):
            return None  # a file or link that the patch itself removes
        raise Conflict(f"{one_line(row.path, 80)} lies behind a link or a file") from exc
    if not row.old_mode and stat.S_ISDIR(found.st_mode) and _only_leaving(worktree, row.path, leaving):
        return None
    if not same:
        raise Conflict(
            f"{one_line(row.path, 80)} in the worktree is not what the patch was made from",
            hint="commit or put away what you changed there, then make the patch anew",
        )
    return _mark(found)


def _is(git: PrivateGit, fd: int, name: str, found: os.stat_result, row: TreeChange) -> bool:
    if row.old_mode == GITLINK:
        return stat.S_ISDIR(found.st_mode) and _is_empty(fd, name)
    if row.old_mode == LINK:
        if not stat.S_ISLNK(found.st_mode):
            return False
        data = os.fsencode(os.readlink(name, dir_fd=fd))
    else:
        if not stat.S_ISREG(found.st_mode) or bool(found.st_mode & 0o100) != (row.old_mode == "100755"):
            return False
        try:
            data = content(fd, name)
        except Unfit:
            return False
    return blob_id(data, git.object_format) == row.old_blob


def _is_empty(fd: int, name: str) -> bool:
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        return not os.listdir(below)
    finally:
        os.close(below)


def _only_leaving(worktree: Path, path: str, leaving: set[str]) -> bool:
    """True if the folder at `path` holds nothing but files that the patch removes."""
    top = worktree / path
    inside = (Path(at, name).relative_to(worktree) for at, _, names in os.walk(top) for name in names)
    return all(one.as_posix() in leaving for one in inside)


def _laid_out(git: PrivateGit, staging: Path, row: TreeChange, at: int) -> str | None:
    """Write the new side of a row into the staging folder; return its name there."""
    if not row.new_mode:
        return None
    name = f"new-{at}"
    if row.new_mode == GITLINK:
        (staging / name).mkdir()
        return name
    data = blob(git, row.new_blob)
    # Git does not compare a loose object with its name when it reads it; what was approved is the name.
    if blob_id(data, git.object_format) != row.new_blob:
        raise VerificationFailed(f"the object {row.new_blob} does not hold what its name says")
    if row.new_mode == LINK:
        (staging / name).symlink_to(os.fsdecode(data))
        return name
    mode = 0o777 if row.new_mode == "100755" else 0o666  # less the umask, as git does
    file = os.open(staging / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(file, "wb") as handle:
        handle.write(data)
    return name


def _taken(worktree: Path, staging: Path, step: _Step, old: str, undo: list[Callable[[], None]]) -> None:
    """Put the new file in place of the old one, which is kept aside; say in `undo` how to go back."""
    with folder(worktree, step.parts, make=step.new is not None) as fd:
        if step.seen is not None:
            _put_aside(fd, step, staging / old)
            undo.append(lambda: _back(worktree, step, staging / old))
            if _mark(os.stat(staging / old, follow_symlinks=False)) != step.seen:
                raise Conflict(f"{one_line(step.row.path, 80)} was changed just now", hint="try again")
        if step.new is not None:
            _place(staging / step.new, fd, step)
            undo.append(lambda: _away(worktree, step))
    if step.new is None:
        prune(worktree, step.parts)


def _put_aside(fd: int, step: _Step, aside: Path) -> None:
    """Keep the old file; where a new one replaces it, under a second name, so that the first is never empty."""
    if step.replaces:
        with contextlib.suppress(OSError):  # a file system without links
            os.link(step.name, aside, src_dir_fd=fd, follow_symlinks=False)
            return
    os.rename(step.name, aside, src_dir_fd=fd)


def _place(new: Path, fd: int, step: _Step) -> None:
    if step.replaces or step.row.new_mode == GITLINK:
        os.rename(new, step.name, dst_dir_fd=fd)
        return
    try:  # at a free place: what somebody laid there a moment ago is not written over
        os.link(new, step.name, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError as exc:
        raise Conflict(f"{one_line(step.row.path, 80)} was made just now by somebody else") from exc


def _back(worktree: Path, step: _Step, old: Path) -> None:
    with folder(worktree, step.parts, make=True) as fd:
        os.rename(old, step.name, dst_dir_fd=fd)


def _away(worktree: Path, step: _Step) -> None:
    """Take the new file away, if it is ours."""
    with folder(worktree, step.parts) as fd:
        if step.row.new_mode == GITLINK:
            os.rmdir(step.name, dir_fd=fd)
        elif not step.replaces:
            os.unlink(step.name, dir_fd=fd)
    prune(worktree, step.parts)


def _mark(found: os.stat_result) -> _Seen:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
