"""Checks whether a line of commits is already on another branch; unknown counts as not proved."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.commits import CommitRange, iterate_commits, tree_of_commit
from gitnexus.git.merging import clean_merge, merge_base
from gitnexus.git.patchid import PatchIds
from gitnexus.git.private import PrivateGit
from gitnexus.runs.ids import BRANCHES, is_run_id

# On a branch with more new commits than this, squashes and rebases are not searched: a rescue ref is used instead.
_MOST = 1000
# On hosts that accept only branches, the log archives are branches too.
_ARCHIVE_BRANCH = re.compile(r"-archive/[0-9]{4}-[0-9]{2}$")


class Target(NamedTuple):
    """A branch that may contain the work."""

    name: str
    commit: str


def how_integrated(git: PrivateGit, ids: PatchIds, tip: str, targets: Sequence[Target]) -> str:
    """Return how one of `targets` contains all of `tip`, as a phrase; "" if none is proved to."""
    for target in targets:
        how = _how_contained(git, ids, tip, target.commit)
        if how:
            return how.replace("BRANCH", target.name)
    return ""


def is_of_a_run(branch: str) -> bool:
    """True for a run's branch or a remote copy of it, which proves nothing about the run."""
    return is_run_id(branch.rpartition("/")[2]) or _ARCHIVE_BRANCH.search(branch) is not None


def run_tips_merged_into(git: PrivateGit, target: str) -> frozenset[str]:
    """Return the tips of runs' branches that a commit reaches, by one git child for all runs."""
    asked = git.run("for-each-ref", f"--merged={target}", "--format=%(objectname)", BRANCHES)
    return frozenset(asked.stdout.decode("ascii", "replace").split())


def branches_containing(git: PrivateGit, tip: str) -> list[Target]:
    """Return the user's local and remote branches that reach `tip`."""
    asked = git.run(
        "for-each-ref", "--contains", tip, "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"
    )
    rows = [line.split(" ", 1) for line in asked.stdout.decode("utf-8", "replace").splitlines()]
    return [Target(name, oid) for oid, name in rows if not is_of_a_run(name)]


def _how_contained(git: PrivateGit, ids: PatchIds, tip: str, target: str) -> str:
    if tip == target:
        return "BRANCH is the same commit"
    if is_ancestor(git, tip, target):
        return "it is merged into BRANCH"
    own, theirs = tree_of_commit(git, tip), tree_of_commit(git, target)
    if own == theirs:
        return "BRANCH has the same files"
    start = merge_base(git, tip, target)
    if start is None:
        return ""
    before = tree_of_commit(git, start)
    if own == before:
        return "it changes nothing that BRANCH has"
    if _has_same_changes(git, ids, CommitRange(tip, (start,)), CommitRange(target, (start,)), ids.of(before, own)):
        return "BRANCH has the same change"
    if clean_merge(git, target, tip) == theirs:
        return "a merge would add nothing to BRANCH"
    return ""


def _has_same_changes(git: PrivateGit, ids: PatchIds, ours: CommitRange, theirs: CommitRange, whole: str) -> bool:
    """True if one of their commits equals our whole change, or each of our commits equals one of theirs."""
    found = {
        ids.of(row.parent_trees[0], row.tree)
        for row in iterate_commits(git, theirs, most=_MOST)
        if len(row.parent_trees) == 1
    }
    if whole in found:
        return True
    rows = list(iterate_commits(git, ours, most=_MOST))
    if len(rows) == _MOST or any(len(row.parent_trees) != 1 for row in rows):
        return False
    changes = (ids.of(row.parent_trees[0], row.tree) for row in rows)
    return all(not change or change in found for change in changes)
