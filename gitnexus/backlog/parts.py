"""What a task may have besides its own fields, a relation or a claim, and what stays of it when it was deleted."""

from datetime import UTC, datetime
from typing import Literal

from gitnexus.base.record import StoredRecord

RelationKind = Literal["relates-to", "spawned-from", "deferred-to", "supersedes", "duplicates"]


class Relation(StoredRecord):
    """A tie to another task that nothing waits for."""

    task_id: str
    type: RelationKind
    reason: str | None = None


class Claim(StoredRecord):
    """A lease: who works on a task and until when. The token tells one lease from the next of the same name."""

    by: str
    until: str
    token: str

    def holds(self, now: datetime) -> bool:
        """True until the lease has run out; a time that nobody can read is over."""
        try:
            until = datetime.fromisoformat(self.until)
        except ValueError:
            return False
        return now < (until if until.tzinfo else until.replace(tzinfo=UTC))


class Tombstone(StoredRecord):
    """What stays of a deleted task, so that its number is never given again."""

    id: str
    title: str
    deleted_at: str
    tombstone: bool = True
    uid: str | None = None
    rev: int = 0
