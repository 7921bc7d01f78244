"""The record of a claim: who works on a task, and until when."""

from datetime import UTC, datetime

from gitnexus.base.record import StoredRecord


class TaskClaim(StoredRecord):
    """A lease: the worker and the end of its claim. The token distinguishes leases of the same name."""

    by: str
    until: str
    token: str

    def holds(self, now: datetime) -> bool:
        """Return True until the claim expires; a time that cannot be parsed counts as expired."""
        try:
            until = datetime.fromisoformat(self.until)
        except ValueError:
            return False
        return now < (until if until.tzinfo else until.replace(tzinfo=UTC))
