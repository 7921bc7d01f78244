"""Deletes refs of archived runs, here and on the remote, once an archive holds their content."""

from collections.abc import Collection, Mapping

from gitnexus.base.errors import NexusError
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.events.log import FILE
from gitnexus.gateway.recorder import run_folder
from gitnexus.git.ancestry import reached_commits
from gitnexus.git.branches import list_refs, tip_of_ref
from gitnexus.git.locks import delete_refs
from gitnexus.runs.archive import ARCHIVE, LOGS, month_of
from gitnexus.runs.cleanup.clean import worktrees_of_run
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.import_log import LEASED, includes_log
from gitnexus.state import State
from gitnexus.sync.accept_log import is_archived


def held_by_archive(state: State, refs: Mapping[str, str]) -> dict[str, str]:
    """Return the logs and branches of runs that our archives hold: logs by content, branches by commit.

    The history of an archive proves nothing about a log, and nothing about a branch of a run that is not in it: it also
    holds the commits that later runs begin at.
    """
    found = {}
    branches: dict[str, dict[str, str]] = {}
    for ref, commit in refs.items():
        run_id = ref.rpartition("/")[2]
        if ref.startswith(LOGS) and is_archived(state, run_id, commit):
            found[ref] = commit
        elif ref.startswith(BRANCHES):
            branches.setdefault(f"{ARCHIVE}{month_of(run_id)}", {})[ref] = commit
    for archive, commits in branches.items():
        tip = tip_of_ref(state.repo, archive)
        runs = archived_runs(state, {archive: tip}) if tip is not None else set()
        archived = {ref: commit for ref, commit in commits.items() if ref.rpartition("/")[2] in runs}
        reached = reached_commits(state.repo, archived.values(), [tip] if tip is not None else [])
        found |= {ref: commit for ref, commit in archived.items() if commit in reached}
    return found


def archived_runs(state: State, archives: Mapping[str, str]) -> set[str]:
    """Return the runs in the archives."""
    objects = state.objects
    return {run_id for oid in archives.values() for run_id in objects.entries(objects.tree_of(oid))}


def let_go_of_archived(state: State, ours: Mapping[str, str], archives: Mapping[str, str]) -> bool:
    """Delete our logs and branches of runs that another clone archived, unless they are in use here; True if any."""
    runs = archived_runs(state, archives)
    mine = {ref: oid for ref, oid in ours.items() if ref.rpartition("/")[2] in runs}
    held = held_by_archive(state, mine)
    free = {ref: oid for ref, oid in held.items() if not _is_at_work(state, ref.rpartition("/")[2])}
    delete_refs(state.repo.common_dir, free)
    return bool(free)


def let_go_of_copies(state: State, remote: str, there: Collection[str], archives: Mapping[str, str]) -> None:
    """Delete remote-tracking branches of archived runs that are gone from the remote (`there`)."""
    runs = archived_runs(state, archives)
    if not runs:
        return
    above = f"refs/remotes/{remote}/nexus/"
    listed = list_refs(state.repo, above).items()
    copies = {f"{BRANCHES}{ref.removeprefix(above)}": oid for ref, oid in listed if ref.removeprefix(above) in runs}
    held = held_by_archive(state, {ref: oid for ref, oid in copies.items() if ref not in there})
    delete_refs(state.repo.common_dir, {f"{above}{ref.removeprefix(BRANCHES)}": oid for ref, oid in held.items()})


def _is_at_work(state: State, run_id: str) -> bool:
    """True for a run with a worktree here, or with a local log that is ahead of its ref."""
    folder = run_folder(state.repo.common_dir, run_id)
    if (folder / LEASED).exists() or worktrees_of_run(state.repo, run_id):
        return True
    try:
        kept = load_checkpoint(state.objects, run_id)
        here = (folder / FILE).read_bytes() if (folder / FILE).exists() else b""
    except (NexusError, OSError):
        return True
    return bool(here) and kept is not None and not includes_log(here, kept.raw())
