"""Hand edits of `.nexus/backlog/`: counted as changes; what is no task is left alone, a deletion leaves a tombstone."""

from gitnexus.backlog.delete import buried
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.stamps import stamped
from gitnexus.backlog.store import id_at, row_of
from gitnexus.base.canonical import document
from gitnexus.base.clock import now
from gitnexus.base.errors import Invalid


def kept(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return what the ref should hold for an edited file. Raises: Invalid for one that is no task."""
    task_id = id_at(path)
    if task_id is None:
        return mine
    before = row_of(theirs, task_id) if theirs is not None else None
    if mine is None:
        # A number that was given once is never given again, also not after a file was deleted by hand.
        return buried(before, now()).to_bytes() if isinstance(before, BacklogTask) else theirs
    row = row_of(mine, task_id)
    if isinstance(row, Invalid):
        raise row
    if isinstance(before, BacklogTask) and isinstance(row, BacklogTask):
        # Who writes it anew by hand knows nothing of `uid`, and means the same task.
        return document(stamped(before.plain(), row.changed(uid=row.uid or before.uid).plain()))
    return mine  # new here: taken as it is
