"""The record of a claim: who works on a task, and until when."""

from datetime import UTC, datetime

from gitnexus.base.record import StoredRecord


class TaskClaim(StoredRecord):
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
