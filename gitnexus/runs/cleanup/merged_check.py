"""Whether a line of commits is elsewhere already: proved, or not; what cannot be told is not proved."""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.git.commits import Range, log, tree_of
from gitnexus.git.merging import clean_merge, is_ancestor, merge_base
from gitnexus.git.patchid import PatchIds
from gitnexus.git.private import PrivateGit

# On a branch that moved on further than this, squashes and rebases are not looked for: it is parked instead.
_MOST = 1000


class Target(NamedTuple):
    """A branch that may hold the work."""

    name: str
    commit: str


def integrated(git: PrivateGit, ids: PatchIds, tip: str, targets: Sequence[Target]) -> str:
    """Return how one of `targets` has all of `tip`, in words; empty where none is proved to."""
    for target in targets:
        how = _how(git, ids, tip, target.commit)
        if how:
            return how.replace("BRANCH", target.name)
    return ""


def containing(git: PrivateGit, tip: str, without: str) -> list[Target]:
    """Return the branches, local and remote, from which `tip` can be reached, but for those below `without`."""
    asked = git.run(
        "for-each-ref", "--contains", tip, "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"
    )
    rows = [line.split(" ", 1) for line in asked.stdout.decode("utf-8", "replace").splitlines()]
    return [Target(name, oid) for oid, name in rows if not name.startswith(without)]


def _how(git: PrivateGit, ids: PatchIds, tip: str, target: str) -> str:
    if tip == target:
        return "BRANCH is the same commit"
    if is_ancestor(git, tip, target):
        return "it is merged into BRANCH"
    own, theirs = tree_of(git, tip), tree_of(git, target)
    if own == theirs:
        return "BRANCH has the same files"
    start = merge_base(git, tip, target)
    if start is None:
        return ""
    before = tree_of(git, start)
    if own == before:
        return "it changes nothing that BRANCH has"
    if _is_among(git, ids, Range(tip, (start,)), Range(target, (start,)), ids.of(before, own)):
        return "BRANCH has the same change"
    if clean_merge(git, target, tip) == theirs:
        return "a merge would add nothing to BRANCH"
    return ""


def _is_among(git: PrivateGit, ids: PatchIds, ours: Range, theirs: Range, whole: str) -> bool:
    """True if one of their commits is all of our change, or each of ours is one of theirs."""
    found = {
        ids.of(row.parent_trees[0], row.tree) for row in log(git, theirs, most=_MOST) if len(row.parent_trees) == 1
    }
    if whole in found:
        return True
    rows = list(log(git, ours, most=_MOST))
    if len(rows) == _MOST or any(len(row.parent_trees) != 1 for row in rows):
        return False
    changes = (ids.of(row.parent_trees[0], row.tree) for row in rows)
    return all(not change or change in found for change in changes)
