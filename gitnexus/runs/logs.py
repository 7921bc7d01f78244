"""The logs of all runs, wherever they are by now: on this disk, on a ref of their own, or in the archive of a month."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.events.log import FILE, RunLog
from gitnexus.git import Objects, Repo
from gitnexus.git.child import must
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.ids import is_id

_EVENTS = "events"


class Log(NamedTuple):
    """The bytes of a run's log; None where it is there and cannot be read."""

    run: str
    raw: bytes | None


def logs(repo: Repo, objects: Objects, folder: Path, since: str = "") -> Iterator[Log]:
    """Yield each run's log once, the longest there is: what lies on the disk goes before what a ref holds.

    `since` is the beginning of an id, such as 261101: runs with an earlier one are not even read. Raises: NexusError.
    """
    local = {one.parent.name for one in folder.glob(f"*/{FILE}")} if folder.is_dir() else set()
    for run in sorted(local):
        if _wanted(run, since):
            yield Log(run, _on_disk(folder / run))
    kept = {run: tree for run, tree in _on_refs(repo, objects) if run not in local and _wanted(run, since)}
    for run, tree in sorted(kept.items()):
        yield Log(run, _put_together(objects, tree))


def archived(repo: Repo, objects: Objects) -> set[str]:
    """Return the runs whose logs are in the archive of a month. Raises: NexusError."""
    return {run for run, _ in _on_refs(repo, objects, ARCHIVE)}


def _wanted(run: str, since: str) -> bool:
    return is_id(run) and run[: len(since)] >= since


def _on_disk(place: Path) -> bytes | None:
    try:
        return RunLog(place).raw()
    except NexusError:
        return None


def _on_refs(repo: Repo, objects: Objects, *below: str) -> Iterator[tuple[str, str]]:
    """Yield run and tree; a run's own ref comes last, and so counts before an archive that holds it, too."""
    listed = must("for-each-ref", "--format=%(refname)", *(below or (ARCHIVE, LOGS)), git_dir=repo.common_dir)
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


def _put_together(objects: Objects, tree: str) -> bytes | None:
    try:
        entry = objects.find(tree, _EVENTS)
        rows = objects.entries(entry.oid) if entry is not None and entry.is_folder else {}
        return b"".join(objects.blobs([rows[name].oid for name in sorted(rows) if rows[name].is_file]))
    except NexusError:
        return None
