"""Records which machine wrote which part of a log: a signature for each range of events, stored beside the log. Pure.

The functions that sign and verify are passed in by the caller. Until a signature has been checked against the chain,
what is recorded here is only a claim.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.canonical import canonical_json
from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record, StoredRecord

# In the tree of a checkpoint.
FILE = "signatures.json"
_DOMAIN = b"git-nexus log v1\0"
_MOST = 10_000


class LogSpan(NamedTuple):
    """A range of a log: after event `since`, whose line has the digest `prev`, up to event `upto` with `head`."""

    since: int
    prev: str
    upto: int
    head: str


class LogPart(Record):
    """A range that a machine claims to have written. `prev` is empty at the beginning of a log."""

    since: int
    prev: str
    upto: int
    head: str
    machine: str
    at: str
    signature: str = ""

    @property
    def span(self) -> LogSpan:
        """The range that it covers."""
        return LogSpan(self.since, self.prev, self.upto, self.head)

    def message(self, project: str, run: str) -> bytes:
        """Return the bytes that are signed: all fields, the run and the project."""
        return _DOMAIN + canonical_json({**self.changed(signature="").plain(), "project": project, "run": run})


class MachineCard(Record):
    """A machine's public key and owner; `by` is the approver who signed that statement."""

    id: str
    project: str
    public: str
    name: str
    at: str
    by: str = ""
    signature: str = ""

    def message(self) -> bytes:
        """Return the bytes that the approver signs."""
        return b"git-nexus machine v1\0" + canonical_json(self.changed(signature="").plain())


class LogAuthors(StoredRecord):
    """The parts of a log in order, and the machines they name."""

    machines: tuple[MachineCard, ...] = ()
    parts: tuple[LogPart, ...] = ()

    def card(self, machine: str) -> MachineCard | None:
        """Return the card of a machine."""
        return next((one for one in self.machines if one.id == machine), None)


NOBODY = LogAuthors()


def parse_log_authors(raw: bytes | None, where: str) -> LogAuthors:
    """Return the claimed authors of a log; none if they cannot be parsed, so that every event is only a claim."""
    if raw is None:
        return NOBODY
    try:
        found = LogAuthors.from_bytes(raw, where)
    except Invalid:
        return NOBODY
    return (
        found if len(found.parts) <= _MOST and len(found.machines) <= _MOST and _are_in_order(found.parts) else NOBODY
    )


def _are_in_order(parts: Sequence[LogPart]) -> bool:
    last = 0
    for part in parts:
        if not last <= part.since < part.upto:
            return False
        last = part.upto
    return True
