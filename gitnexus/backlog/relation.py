"""The record of a relation between two tasks."""

from typing import Literal

from gitnexus.base.record import StoredRecord

RelationKind = Literal["relates-to", "spawned-from", "deferred-to", "supersedes", "duplicates"]


class TaskRelation(StoredRecord):
    """A tie to another task that nothing waits for."""

    task_id: str
    type: RelationKind
    reason: str | None = None
