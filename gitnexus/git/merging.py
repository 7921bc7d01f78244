"""Computes merges and replays a change on another base in a private git folder. No checkout is touched."""

from collections.abc import Sequence

from gitnexus.base.errors import Conflict
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.child import GitFailed, git_error_line
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import PLAIN_DIFF

# Each parent costs a merge: git itself writes no octopus of more than this, and a commit can claim a million.
MOST_PARENTS = 25
_PERSON = "git nexus <git-nexus@localhost> 0 +0000"


def merge_base(git: PrivateGit, one: str, other: str) -> str | None:
    """Return the merge base of two commits, or None if they have no common history."""
    asked = git.run("merge-base", one, other)
    return asked.stdout.decode("ascii").split()[0] if asked.returncode == 0 else None


def clean_merge(git: PrivateGit, ours: str, theirs: str) -> str | None:
    """Return the tree of an automatic merge of two commits; None for a conflict, or a git that is too old."""
    if is_ancestor(git, ours, theirs):
        return tree_of_commit(git, theirs)
    if is_ancestor(git, theirs, ours):
        return tree_of_commit(git, ours)
    return _merge_diverged(git, ours, theirs)


def _merge_diverged(git: PrivateGit, ours: str, theirs: str) -> str | None:
    """Return the merged tree of two diverged commits; git before 2.38 cannot do it and fails too."""
    done = git.run("merge-tree", "--write-tree", "--no-messages", ours, theirs)
    return done.stdout.decode("ascii").split()[0] if done.returncode == 0 else None


def clean_merge_of_all(git: PrivateGit, parents: Sequence[str]) -> str | None:
    """Return the tree of an automatic merge of all parents, one after the other; None as for `clean_merge`.

    Each intermediate result is a commit of the private git only, which the next parent is merged into.
    """
    if not 2 <= len(parents) <= MOST_PARENTS:
        return None
    merged = parents[0]
    for at, parent in enumerate(parents[1:], 2):
        if is_ancestor(git, parent, merged):
            continue
        if is_ancestor(git, merged, parent):
            merged = parent
            continue
        tree = _merge_diverged(git, merged, parent)
        if tree is None or at == len(parents):
            return tree
        raw = f"tree {tree}\nparent {merged}\nparent {parent}\nauthor {_PERSON}\ncommitter {_PERSON}\n\nmerged\n"
        merged = git.must("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.encode()).decode().strip()
    return tree_of_commit(git, merged)


def count_lost_commits(git: PrivateGit, old: str, new: str) -> int:
    """Return how many commits are in `old` and not in `new`: those lost if a branch moves from one to the other."""
    return int(git.must("rev-list", "--count", old, f"^{new}", "--"))


def replay_change(git: PrivateGit, onto: str, old: str, new: str) -> str:
    """Return the tree `onto` with the change from `old` to `new` applied; the full context has to match.

    The objects are in `git` until they are kept. Raises: Conflict if the change does not apply.
    """
    if onto == old:
        return new
    return _apply_to_tree(git, onto, patch_between(git, old, new))


def patch_between(git: PrivateGit, old: str, new: str) -> bytes:
    """Return the complete difference of two trees as a patch that git can apply, binary files included."""
    return git.must(
        "diff-tree",
        *PLAIN_DIFF,
        "-p",
        "--binary",
        "--full-index",
        old,
        new,
        "--",
    )


def recount_patch(git: PrivateGit, onto: str, patch: bytes) -> bytes:
    """Return a hand-edited patch to the tree `onto` as git writes it; its line counts may be wrong.

    Raises: Conflict if it does not apply.
    """
    return patch_between(git, onto, _apply_to_tree(git, onto, patch, "--recount"))


def _apply_to_tree(git: PrivateGit, onto: str, patch: bytes, *options: str) -> str:
    git.must("read-tree", onto)
    if patch:
        done = git.run("apply", "--cached", *options, "-p1", "--whitespace=nowarn", "-", stdin=patch)
        if done.returncode != 0:
            raise Conflict(f"the change does not fit: {git_error_line(done.stderr)}")
    written = git.run("write-tree")
    if written.returncode != 0:
        raise GitFailed(f"the result is not a valid tree: {git_error_line(written.stderr)}")
    return written.stdout.decode("ascii").strip()
