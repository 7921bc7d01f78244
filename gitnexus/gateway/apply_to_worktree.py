"""Applies an approved patch to a worktree: checks every file first, and rolls back if a step fails.

Only paths in the patch are touched, only if they have exactly the content that the patch was made from, and no link is
followed. New content is written to a folder beside the files and renamed into place, one file at a time.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Conflict, Failed, VerificationFailed
from gitnexus.base.files import remove_tree
from gitnexus.base.randomness import random_hex
from gitnexus.base.text import one_line
from gitnexus.git.objects import blob_id
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import GITLINK, LINK, TreeChange, read_blob
from gitnexus.git.worktree_tree import UnfitForTree, read_plain_file
from gitnexus.state.disk import TEMPORARY, Obstructed, open_folder, prune_empty_folders

_Seen = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Step:
    """One path: the file seen there (None: nothing), and the staged new file (None: it is deleted)."""

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
        """True if a file or link replaces another."""
        return self.seen is not None and self.new is not None and GITLINK not in (self.row.old_mode, self.row.new_mode)


def apply_changes(git: PrivateGit, worktree: Path, changes: tuple[TreeChange, ...]) -> int:
    """Bring the changed paths of `worktree` from the old to the new side; return the number of files.

    Raises: Conflict.
    """
    leaving = {row.path for row in changes if row.old_mode and not row.new_mode}
    seen = [_check_old_file(git, worktree, row, leaving) for row in changes]
    staging = worktree / f"{TEMPORARY}{random_hex(12)}"
    staging.mkdir(mode=0o700)
    undo: list[Callable[[], None]] = []
    try:
        laid = [_stage_new_file(git, staging, row, at) for at, row in enumerate(changes)]
        steps = [_Step(*three) for three in zip(changes, seen, laid, strict=True)]
        # Deletions first: a file may make room for a folder of the same name, and vice versa.
        for at, step in enumerate(sorted(steps, key=lambda step: step.new is not None)):
            _swap_in_file(worktree, staging, step, f"old-{at}", undo)
    except BaseException as exc:
        if not _undo_steps(undo):
            raise Failed(
                f"the patch failed midway and could not be undone: {exc}",
                hint=f"what the changed files held before is in {staging.name}",
            ) from exc
        remove_tree(staging)
        if isinstance(exc, (OSError, Obstructed)):
            raise Conflict(f"the patch could not be applied to the files, nothing was changed: {exc}") from exc
        raise
    remove_tree(staging)
    return len(steps)


def _undo_steps(undo: list[Callable[[], None]]) -> bool:
    """Undo the steps in reverse as far as possible; True if all were undone."""
    whole = True
    for back in reversed(undo):
        try:
            back()
        except (OSError, Obstructed):
            whole = False
    return whole


def _check_old_file(git: PrivateGit, worktree: Path, row: TreeChange, leaving: set[str]) -> _Seen | None:
    """Return the identity of the present file. Raises: Conflict if it is not what the patch was made from."""
    *parts, name = row.path.split("/")
    try:
        with open_folder(worktree, parts) as fd:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            same = row.old_mode != "" and _matches_old_side(git, fd, name, found, row)
    except FileNotFoundError:
        if row.old_mode not in ("", GITLINK):
            raise Conflict(f"{one_line(row.path, 80)} is gone from the worktree") from None
        return None
    except Obstructed as exc:
        if any("/".join(parts[:depth]) in leaving for depth in range(1, len(parts) + 1)):
            return None  # a file or link that this patch deletes
        raise Conflict(f"{one_line(row.path, 80)} lies behind a link or a file") from exc
    if not row.old_mode and stat.S_ISDIR(found.st_mode) and _only_leaving(worktree, row.path, leaving):
        return None
    if not same:
        raise Conflict(
            f"{one_line(row.path, 80)} in the worktree is not what the patch was made from",
            hint="commit or stash what you changed there, then create the patch again",
        )
    return _file_identity(found)


def _matches_old_side(git: PrivateGit, fd: int, name: str, found: os.stat_result, row: TreeChange) -> bool:
    if row.old_mode == GITLINK:
        return stat.S_ISDIR(found.st_mode) and _is_empty_folder(fd, name)
    if row.old_mode == LINK:
        if not stat.S_ISLNK(found.st_mode):
            return False
        data = os.fsencode(os.readlink(name, dir_fd=fd))
    else:
        if not stat.S_ISREG(found.st_mode) or bool(found.st_mode & 0o100) != (row.old_mode == "100755"):
            return False
        try:
            data = read_plain_file(fd, name)
        except UnfitForTree:
            return False
    return blob_id(data, git.object_format) == row.old_blob


def _is_empty_folder(fd: int, name: str) -> bool:
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        return not os.listdir(below)
    finally:
        os.close(below)


def _only_leaving(worktree: Path, path: str, leaving: set[str]) -> bool:
    """True if the folder at `path` contains only files that the patch deletes."""
    top = worktree / path
    inside = (Path(at, name).relative_to(worktree) for at, _, names in os.walk(top) for name in names)
    return all(one.as_posix() in leaving for one in inside)


def _stage_new_file(git: PrivateGit, staging: Path, row: TreeChange, at: int) -> str | None:
    """Write the new side of a row into the staging folder; return its name there."""
    if not row.new_mode:
        return None
    name = f"new-{at}"
    if row.new_mode == GITLINK:
        (staging / name).mkdir()
        return name
    data = read_blob(git, row.new_blob)
    # Git does not check a loose object's hash when reading it, but the hash is what was approved.
    if blob_id(data, git.object_format) != row.new_blob:
        raise VerificationFailed(f"the object {row.new_blob} does not hold what its name says")
    if row.new_mode == LINK:
        (staging / name).symlink_to(os.fsdecode(data))
        return name
    mode = 0o777 if row.new_mode == "100755" else 0o666  # minus the umask, as git does
    file = os.open(staging / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(file, "wb") as handle:
        handle.write(data)
    return name


def _swap_in_file(worktree: Path, staging: Path, step: _Step, old: str, undo: list[Callable[[], None]]) -> None:
    """Replace the old file by the new one, keep the old one aside, and append the reverse step to `undo`."""
    with open_folder(worktree, step.parts, make=step.new is not None) as fd:
        if step.seen is not None:
            _put_aside(fd, step, staging / old)
            undo.append(lambda: _restore_old_file(worktree, step, staging / old))
            if _file_identity(os.stat(staging / old, follow_symlinks=False)) != step.seen:
                raise Conflict(f"{one_line(step.row.path, 80)} was changed just now", hint="try again")
        if step.new is not None:
            _place_new_file(staging / step.new, fd, step)
            undo.append(lambda: _remove_new_file(worktree, step))
    if step.new is None:
        prune_empty_folders(worktree, step.parts)


def _put_aside(fd: int, step: _Step, aside: Path) -> None:
    """Keep the old file under a second name; if it is replaced, the first name always exists."""
    if step.replaces:
        with contextlib.suppress(OSError):  # the file system has no hard links
            os.link(step.name, aside, src_dir_fd=fd, follow_symlinks=False)
            return
    os.rename(step.name, aside, src_dir_fd=fd)


def _place_new_file(new: Path, fd: int, step: _Step) -> None:
    if step.replaces or step.row.new_mode == GITLINK:
        os.rename(new, step.name, dst_dir_fd=fd)
        return
    try:  # do not overwrite a file created meanwhile
        os.link(new, step.name, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError as exc:
        raise Conflict(f"{one_line(step.row.path, 80)} was created just now by another process") from exc


def _restore_old_file(worktree: Path, step: _Step, old: Path) -> None:
    with open_folder(worktree, step.parts, make=True) as fd:
        os.rename(old, step.name, dst_dir_fd=fd)


def _remove_new_file(worktree: Path, step: _Step) -> None:
    """Delete the new file if we created it."""
    with open_folder(worktree, step.parts) as fd:
        if step.row.new_mode == GITLINK:
            os.rmdir(step.name, dir_fd=fd)
        elif not step.replaces:
            os.unlink(step.name, dir_fd=fd)
    prune_empty_folders(worktree, step.parts)


def _file_identity(found: os.stat_result) -> _Seen:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
