"""The record that remains of a deleted task."""

from gitnexus.base.record import StoredRecord


class Tombstone(StoredRecord):
    """The remaining record of a deleted task, so that its number is never used again.

    `lost` is True if nobody deleted it: its content could not be read any more, and gives way to a record of the task.
    """

    id: str
    title: str
    deleted_at: str
    tombstone: bool = True
    uid: str | None = None
    rev: int = 0
    lost: bool | None = None
