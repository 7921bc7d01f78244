"""Commits what a clean-up would make unreachable, and keeps the commit by a rescue ref."""

import contextlib
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import Failed
from gitnexus.git import Author, GitFailed, Objects
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.commits import CommitRange, iterate_commits, read_commit, tree_of_commit, write_commit_object
from gitnexus.git.private import PrivateGit
from gitnexus.git.worktree_tree import OddFile, TooManyFiles, write_worktree_tree

RESCUE = "refs/nexus/rescue/"
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_LOST = 50
_MOST_NAMES = 100


class LeftoverWork(NamedTuple):
    """Content of a run's worktree beyond its branch; `commit` holds it, "" if there is none.

    `odd` is content that no commit can hold.
    """

    commit: str
    files: int
    odd: tuple[OddFile, ...]


def commit_leftovers(
    git: PrivateGit,
    place: Path | None,
    admin: Path | None,
    branch_log: Path,
    tip: str,
    *,
    base: str = "",
    look_only: bool = False,
) -> LeftoverWork:
    """Return a commit of everything in folder, index and reflogs that `tip` does not reach.

    A folder as `base`, where the run began, or any commit up to `tip` left it has nothing of its own: a sync may have
    moved the branch. The result is deterministic, so that a repeated call after a kill adds nothing. With `look_only`
    nothing is written, and the commit is `tip`. Raises: OSError, GitFailed.
    """
    here = _worktree_head(git, admin) or tip
    shown = tree_of_commit(git, here)
    on_disk, files = shown, 0
    odd: tuple[OddFile, ...] = ()
    if place is not None:
        try:
            found = write_worktree_tree(git, place, here)
            on_disk, files, odd = found.result_tree, len(found.changes), found.odd
        except TooManyFiles as exc:
            odd = (OddFile(".", exc.message),)
    who = _author_at_commit(git, tip)
    lost = _unreachable_commits(
        git, [here, *_reflog_commits(admin / "logs" / "HEAD" if admin else None), *_reflog_commits(branch_log)], tip
    )
    staged = _index_tree(git, admin) if admin is not None else ""
    safe = {tree_of_commit(git, tip)}
    if not lost and base and not {on_disk, staged or on_disk} <= safe:
        safe |= _trees_up_to(git, base, tip)
    is_staged = bool(staged) and staged not in (shown, on_disk, *safe)
    if on_disk in safe and not lost and not is_staged:
        return LeftoverWork("", 0, odd)
    if look_only:
        return LeftoverWork(tip, files, odd)
    git.keep(on_disk)
    if is_staged:
        git.keep(staged)
        lost.append(write_commit_object(git, staged, [here], "rescue: what was staged\n", who))
    return LeftoverWork(
        write_commit_object(git, on_disk, [tip, *lost], "rescue: content of a run's worktree\n", who), files, odd
    )


def hold_by_rescue_ref(git: PrivateGit, objects: Objects, run: str, commit: str) -> str:
    """Point a rescue ref at `commit` and return its name; earlier content is never dropped. Raises: Failed."""
    for number in range(1, _MOST_NAMES):
        ref = f"{RESCUE}{run}" + (f".{number}" if number > 1 else "")
        held = objects.tip(ref)
        if held is not None and is_ancestor(git, commit, held):
            return ref
        if held is None and objects.swap(ref, None, commit, f"clean: park {run}"):
            return ref
    raise Failed(f"{RESCUE}{run} is taken, and {_MOST_NAMES} names after it", hint="look at them: git for-each-ref")


def _worktree_head(git: PrivateGit, admin: Path | None) -> str:
    """Return the commit of a worktree's HEAD, as far as it can be read."""
    if admin is None:
        return ""
    with contextlib.suppress(OSError):
        text = (admin / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        named = text.removeprefix("ref: ")
        if _ID.fullmatch(named) or named.startswith("refs/heads/"):
            asked = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
            return asked.stdout.decode("ascii").split()[-1] if asked.returncode == 0 else ""
    return ""


def _reflog_commits(file: Path | None) -> list[str]:
    """Return the commits in a reflog, newest first."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file is not None else []
    except OSError:
        return []
    ids = (line.split(" ")[1] for line in reversed(lines) if line.count(" ") > 1)
    return [oid for oid in ids if _ID.fullmatch(oid)]


def _unreachable_commits(git: PrivateGit, commits: list[str], tip: str) -> list[str]:
    """Return the commits that neither `tip` nor an earlier one in the list reaches."""
    unique = list(dict.fromkeys(oid for oid in commits if oid != tip))[:_MOST_LOST]
    if not unique:
        return []
    kinds = git.must("cat-file", "--batch-check=%(objecttype)", stdin="".join(f"{oid}\n" for oid in unique).encode())
    found: list[str] = []
    for oid, kind in zip(unique, kinds.splitlines(), strict=True):
        if kind == b"commit" and not any(is_ancestor(git, oid, one) for one in (tip, *found)):
            found.append(oid)
    return found


def _trees_up_to(git: PrivateGit, base: str, tip: str) -> set[str]:
    """Return the trees of `base` and of the commits after it up to `tip`, none if `tip` does not reach `base`."""
    if not is_ancestor(git, base, tip):
        return set()
    return {tree_of_commit(git, base), *(row.tree for row in iterate_commits(git, CommitRange(tip, (base,))))}


def _index_tree(git: PrivateGit, admin: Path) -> str:
    """Return the tree of a worktree's index; "" if it has none, or git cannot write it."""
    try:
        shutil.copyfile(admin / "index", git.folder / "index", follow_symlinks=False)
        done = git.run("write-tree")
    except (OSError, GitFailed):
        return ""
    finally:
        (git.folder / "index").unlink(missing_ok=True)
    return done.stdout.decode("ascii").strip() if done.returncode == 0 else ""


def _author_at_commit(git: PrivateGit, commit: str) -> Author:
    """Return git nexus as author, at the time of a commit."""
    line = next(line for line in read_commit(git, commit).split(b"\n") if line.startswith(b"committer "))
    seconds = line.rsplit(b" ", 2)[1]
    return Author("git nexus", "git-nexus@localhost", int(seconds) if seconds.isdigit() else 0)
