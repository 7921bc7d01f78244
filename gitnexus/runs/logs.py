"""Reads the logs of all runs from where they are stored: the local folder, a ref per run, or a monthly archive."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.events.checkpoint import Checkpoint, in_tree, load_checkpoint
from gitnexus.events.log import FILE, RunLog
from gitnexus.git import Objects, Repo
from gitnexus.git.child import run_git_or_raise
from gitnexus.runs.archive import ARCHIVE, LOGS, month_of
from gitnexus.runs.ids import is_run_id

_EVENTS = "events"


class StoredLog(NamedTuple):
    """The bytes of a run's log; None if it exists but cannot be read."""

    run: str
    raw: bytes | None


def iterate_logs(repo: Repo, objects: Objects, folder: Path, since: str = "") -> Iterator[StoredLog]:
    """Yield each run's log once; the local copy takes precedence over the ref.

    `since` is an id prefix such as 261101: runs with an earlier id are not read. Raises: NexusError.
    """
    local = {one.parent.name for one in folder.glob(f"*/{FILE}")} if folder.is_dir() else set()
    for run in sorted(local):
        if _is_run_since(run, since):
            yield StoredLog(run, _read_local_log(folder / run))
    kept = {
        run: tree for run, tree in _log_trees_on_refs(repo, objects) if run not in local and _is_run_since(run, since)
    }
    for run, tree in sorted(kept.items()):
        yield StoredLog(run, _join_log_parts(objects, tree))


def kept_log(objects: Objects, run: str) -> Checkpoint | None:
    """Return a run's checkpoint from its own ref or the archive of its month. Raises: NexusError.

    The ref takes precedence, unless the archive continues its log: another clone may have archived what it added.
    """
    on_ref = load_checkpoint(objects, run)
    if on_ref is None:
        return archived_log(objects, run)
    with contextlib.suppress(NexusError):  # an archive that cannot be read does not hide the ref
        archived = archived_log(objects, run)
        if archived and archived.head.seq > on_ref.head.seq and archived.raw().startswith(on_ref.raw()):
            return archived
    return on_ref


def archived_log(objects: Objects, run: str) -> Checkpoint | None:
    """Return a run's checkpoint from the archive of its month, None if absent. Raises: NexusError."""
    tip = objects.tip(f"{ARCHIVE}{month_of(run)}")
    entry = objects.find(objects.tree_of(tip), run) if tip is not None else None
    return in_tree(objects, run, tip, entry.oid) if tip is not None and entry is not None and entry.is_folder else None


def archived_run_ids(repo: Repo, objects: Objects) -> set[str]:
    """Return the ids of the runs whose logs are archived. Raises: NexusError."""
    return {run for run, _ in _log_trees_on_refs(repo, objects, ARCHIVE)}


def _is_run_since(run: str, since: str) -> bool:
    return is_run_id(run) and run[: len(since)] >= since


def _read_local_log(place: Path) -> bytes | None:
    try:
        return RunLog(place).raw()
    except NexusError:
        return None


def _log_trees_on_refs(repo: Repo, objects: Objects, *below: str) -> Iterator[tuple[str, str]]:
    """Yield run id and log tree; a run's own ref comes last and so overrides an archive."""
    listed = run_git_or_raise(
        "for-each-ref", "--format=%(refname)", *(below or (ARCHIVE, LOGS)), git_dir=repo.common_dir
    )
    names = sorted(listed.decode("utf-8", "replace").split())
    for name in names:
        tip = objects.tip(name)
        if tip is None:
            continue
        tree = objects.tree_of(tip)
        if name.startswith(LOGS):
            yield name.removeprefix(LOGS), tree
        else:
            yield from ((run, entry.oid) for run, entry in objects.entries(tree).items() if entry.is_folder)


def _join_log_parts(objects: Objects, tree: str) -> bytes | None:
    try:
        entry = objects.find(tree, _EVENTS)
        rows = objects.entries(entry.oid) if entry is not None and entry.is_folder else {}
        return b"".join(objects.blobs([rows[name].oid for name in sorted(rows) if rows[name].is_file]))
    except NexusError:
        return None
