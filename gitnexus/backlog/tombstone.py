"""The record that remains of a deleted task."""

from gitnexus.base.record import StoredRecord


class Tombstone(StoredRecord):
    """What stays of a deleted task, so that its number is never given again."""

    id: str
    title: str
    deleted_at: str
    tombstone: bool = True
    uid: str | None = None
    rev: int = 0
