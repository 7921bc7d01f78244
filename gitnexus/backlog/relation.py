"""The record of a relation between two tasks."""

from typing import Literal

from gitnexus.base.record import StoredRecord

RelationKind = Literal["relates-to", "spawned-from", "deferred-to", "supersedes", "duplicates"]


class TaskRelation(StoredRecord):
    """A relation to another task; nothing waits for it."""

    task_id: str
    type: RelationKind
    reason: str | None = None
