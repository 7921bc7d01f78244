"""Validates hand edits of `.nexus/backlog/`: stamps changes, ignores other files, turns a deletion into a tombstone."""

from gitnexus.backlog.delete import tombstone_for_task
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.stamps import with_stamps
from gitnexus.backlog.store import parse_task_row, task_id_at
from gitnexus.base.canonical import json_document
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid


def accept_task_edit(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the content of the ref for an edited file. Raises: Invalid if it is not a task."""
    task_id = task_id_at(path)
    if task_id is None:
        return mine
    before = parse_task_row(theirs, task_id) if theirs is not None else None
    if mine is None:
        # A number that was given once is never given again, also not after a file was deleted by hand.
        return tombstone_for_task(before, utc_now()).to_bytes() if isinstance(before, BacklogTask) else theirs
    row = parse_task_row(mine, task_id)
    if isinstance(row, Invalid):
        raise row
    if isinstance(before, BacklogTask) and isinstance(row, BacklogTask):
        # A user who rewrites the file by hand does not know `uid` and `uids`, and means the same tasks.
        uids = {**(before.uids or {}), **(row.uids or {})} or None
        return json_document(with_stamps(before.plain(), row.changed(uid=row.uid or before.uid, uids=uids).plain()))
    return mine  # new here: taken as it is
