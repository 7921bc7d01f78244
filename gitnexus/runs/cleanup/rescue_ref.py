"""What a clean-up would make unreachable, made reachable first: one commit, and a ref that holds it."""

import contextlib
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import Failed
from gitnexus.git import Author, GitFailed, Objects
from gitnexus.git.commits import read, tree_of, write
from gitnexus.git.merging import is_ancestor
from gitnexus.git.ondisk import Odd, TooManyFiles, worktree_tree
from gitnexus.git.private import PrivateGit

RESCUE = "refs/nexus/rescue/"
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_LOST = 50
_MOST_NAMES = 100


class Left(NamedTuple):
    """What lies in a run's worktree beside its branch; `commit` holds it, empty where there is nothing.

    `odd` fits into no commit and is only in the folder itself.
    """

    commit: str
    files: int
    odd: tuple[Odd, ...]


def left_in(
    git: PrivateGit, place: Path | None, admin: Path | None, branch_log: Path, tip: str, *, look_only: bool = False
) -> Left:
    """Return a commit of all that the folder, the index and the logs have and `tip` does not reach.

    The same twice is the same commit: who is killed and comes again parks nothing a second time. With `look_only`
    nothing is written, and the commit is `tip`. Raises: OSError, GitFailed.
    """
    here = _head(git, admin) or tip
    shown = tree_of(git, here)
    on_disk, files = shown, 0
    odd: tuple[Odd, ...] = ()
    if place is not None:
        try:
            found = worktree_tree(git, place, here)
            on_disk, files, odd = found.result_tree, len(found.changes), found.odd
        except TooManyFiles as exc:
            odd = (Odd(".", exc.message),)
    who = _as_at(git, tip)
    lost = _lost(git, [here, *_logged(admin / "logs" / "HEAD" if admin else None), *_logged(branch_log)], tip)
    staged = _staged(git, admin) if admin is not None else ""
    is_staged = bool(staged) and staged not in (shown, on_disk, tree_of(git, tip))
    if on_disk == tree_of(git, tip) and not lost and not is_staged:
        return Left("", 0, odd)
    if look_only:
        return Left(tip, files, odd)
    git.keep(on_disk)
    if is_staged:
        git.keep(staged)
        lost.append(write(git, staged, [here], "rescue: what was staged\n", who))
    return Left(write(git, on_disk, [tip, *lost], "rescue: what lay in the worktree of a run\n", who), files, odd)


def park(git: PrivateGit, objects: Objects, run: str, commit: str) -> str:
    """Let a ref hold `commit` and return its name; what is parked there already is never let go. Raises: Failed."""
    for number in range(1, _MOST_NAMES):
        ref = f"{RESCUE}{run}" + (f".{number}" if number > 1 else "")
        held = objects.tip(ref)
        if held is not None and is_ancestor(git, commit, held):
            return ref
        if held is None and objects.swap(ref, None, commit, f"clean: park {run}"):
            return ref
    raise Failed(f"{RESCUE}{run} is taken, and {_MOST_NAMES} names after it", hint="look at them: git for-each-ref")


def _head(git: PrivateGit, admin: Path | None) -> str:
    """Return the commit that a worktree's HEAD names, as far as that can be read."""
    if admin is None:
        return ""
    with contextlib.suppress(OSError):
        text = (admin / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        named = text.removeprefix("ref: ")
        if _ID.fullmatch(named) or named.startswith("refs/heads/"):
            asked = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
            return asked.stdout.decode("ascii").split()[-1] if asked.returncode == 0 else ""
    return ""


def _logged(file: Path | None) -> list[str]:
    """Return the commits that a reflog names, the newest first."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file is not None else []
    except OSError:
        return []
    ids = (line.split(" ")[1] for line in reversed(lines) if line.count(" ") > 1)
    return [oid for oid in ids if _ID.fullmatch(oid)]


def _lost(git: PrivateGit, commits: list[str], tip: str) -> list[str]:
    """Return those that neither `tip` nor one before them in the list reaches."""
    unique = list(dict.fromkeys(oid for oid in commits if oid != tip))[:_MOST_LOST]
    kinds = git.must("cat-file", "--batch-check=%(objecttype)", stdin="".join(f"{oid}\n" for oid in unique).encode())
    found: list[str] = []
    for oid, kind in zip(unique, kinds.splitlines(), strict=True):
        if kind == b"commit" and not any(is_ancestor(git, oid, one) for one in (tip, *found)):
            found.append(oid)
    return found


def _staged(git: PrivateGit, admin: Path) -> str:
    """Return the tree of a worktree's index; empty where it has none, or none that git can write."""
    try:
        shutil.copyfile(admin / "index", git.folder / "index", follow_symlinks=False)
        done = git.run("write-tree")
    except (OSError, GitFailed):
        return ""
    finally:
        (git.folder / "index").unlink(missing_ok=True)
    return done.stdout.decode("ascii").strip() if done.returncode == 0 else ""


def _as_at(git: PrivateGit, commit: str) -> Author:
    """Return us, at the time of a commit."""
    line = next(line for line in read(git, commit).split(b"\n") if line.startswith(b"committer "))
    seconds = line.rsplit(b" ", 2)[1]
    return Author("git nexus", "git-nexus@localhost", int(seconds) if seconds.isdigit() else 0)
