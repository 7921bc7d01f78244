"""Deletes rescue refs whose work a branch of the user's holds: what they kept is safe without them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitnexus.git import Repo
from gitnexus.git.ancestry import reached_commits
from gitnexus.git.branches import list_refs
from gitnexus.git.locks import delete_refs
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import PrivateGit
from gitnexus.runs.cleanup.merged_check import Target, how_integrated
from gitnexus.runs.cleanup.rescue_ref import RESCUE
from gitnexus.runs.model import Run


class ReleasedRef(NamedTuple):
    """A rescue ref that was, or would be, deleted, and where its work is."""

    ref: str
    where: str


def release_rescued(
    repo: Repo, git: PrivateGit, runs: Mapping[str, Run], targets: Sequence[Target], *, look_only: bool
) -> list[ReleasedRef]:
    """Delete the rescue refs whose commit one of `targets` reaches, or whose run landed there in another form.

    That a run landed is only claimed by its record: its change itself is looked for on the branch. Leftovers of a
    worktree are no part of what landed, so a ref that holds some goes only where its commit is reached.
    """
    refs = list_refs(repo, RESCUE)
    found: dict[str, str] = {}
    for target in targets if refs else ():
        reached = reached_commits(repo, refs.values(), [target.commit])
        found = {**{ref: f"it is in {target.name}" for ref, oid in refs.items() if oid in reached}, **found}
    for ref, oid in refs.items():
        run = runs.get(ref.removeprefix(RESCUE).partition(".")[0])
        if ref not in found and run is not None and run.status == "landed" and run.head == oid:
            with patch_ids(git) as ids:
                where = how_integrated(git, ids, oid, targets)
            found |= {ref: where} if where else {}
    if not look_only:
        delete_refs(repo.common_dir, {ref: refs[ref] for ref in found})
    return [ReleasedRef(ref, where) for ref, where in sorted(found.items())]
