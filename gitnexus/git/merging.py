"""What a merge would be, and a change on another base: worked out in a private git, no checkout is touched."""

import re

from gitnexus.base.errors import Conflict
from gitnexus.git.child import GitFailed, reason
from gitnexus.git.commits import tree_of
from gitnexus.git.private import PrivateGit

_VERSION = re.compile(rb"git version (\d+)\.(\d+)")
# `merge-tree --write-tree` came with this one.
_WRITES_TREES = (2, 38)


def is_ancestor(git: PrivateGit, older: str, newer: str) -> bool:
    """True if one commit is the other or comes before it."""
    return older == newer or git.run("merge-base", "--is-ancestor", older, newer).returncode == 0


def merge_base(git: PrivateGit, one: str, other: str) -> str | None:
    """Return the commit at which two lines part, None where they have none in common."""
    asked = git.run("merge-base", one, other)
    return asked.stdout.decode("ascii").split()[0] if asked.returncode == 0 else None


def clean_merge(git: PrivateGit, ours: str, theirs: str) -> str | None:
    """Return the tree that git makes of two commits by itself; None for a conflict, or a git that cannot tell."""
    if is_ancestor(git, ours, theirs):
        return tree_of(git, theirs)
    if is_ancestor(git, theirs, ours):
        return tree_of(git, ours)
    if not can_simulate(git):
        return None
    done = git.run("merge-tree", "--write-tree", "--no-messages", ours, theirs)
    return done.stdout.decode("ascii").split()[0] if done.returncode == 0 else None


def can_simulate(git: PrivateGit) -> bool:
    """True if this git can merge without a checkout."""
    found = _VERSION.match(git.must("version"))
    return found is not None and (int(found[1]), int(found[2])) >= _WRITES_TREES


def replayed(git: PrivateGit, onto: str, old: str, new: str) -> str:
    """Return the tree that the change from `old` to `new` makes of the tree `onto`, whole context and no guess.

    The objects are in `git` until they are kept. Raises: Conflict where it does not fit.
    """
    if onto == old:
        return new
    return _applied(git, onto, patch_between(git, old, new))


def patch_between(git: PrivateGit, old: str, new: str) -> bytes:
    """Return the whole difference of two trees as a patch that git applies, binary files too."""
    return git.must("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
                    "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", old, new, "--")  # fmt: skip


def recounted(git: PrivateGit, onto: str, patch: bytes) -> bytes:
    """Return a patch to the tree `onto` that was edited by hand, as git writes it: its hunks need not count right.

    Raises: Conflict where it does not fit.
    """
    return patch_between(git, onto, _applied(git, onto, patch, "--recount"))


def _applied(git: PrivateGit, onto: str, patch: bytes, *options: str) -> str:
    git.must("read-tree", onto)
    if patch:
        done = git.run("apply", "--cached", *options, "-p1", "--whitespace=nowarn", "-", stdin=patch)
        if done.returncode != 0:
            raise Conflict(f"the change does not fit: {reason(done.stderr)}")
    written = git.run("write-tree")
    if written.returncode != 0:
        raise GitFailed(f"the result is no proper tree: {reason(written.stderr)}")
    return written.stdout.decode("ascii").strip()
