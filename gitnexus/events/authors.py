"""Who wrote which part of a log: for each stretch of events the signature of a machine's key, kept beside the log.

Pure: who signs and who verifies is given from above. What is written here is what somebody says; only a signature that
was checked against the chain makes it more than that.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.canonical import canonical
from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record, StoredRecord

# In the tree of a checkpoint.
FILE = "signatures.json"
_DOMAIN = b"git-nexus log v1\0"
_MOST = 10_000


class Span(NamedTuple):
    """A stretch of a log: after the event `since`, whose line has the digest `prev`, up to `upto` with `head`."""

    since: int
    prev: str
    upto: int
    head: str


class LogPart(Record):
    """A stretch that a machine says it wrote. `prev` is empty at the beginning of a log."""

    since: int
    prev: str
    upto: int
    head: str
    machine: str
    at: str
    signature: str = ""

    @property
    def span(self) -> Span:
        """The stretch that it speaks of."""
        return Span(self.since, self.prev, self.upto, self.head)

    def message(self, project: str, run: str) -> bytes:
        """Return what the signature is over: all of it, and for which run of which project."""
        return _DOMAIN + canonical({**self.changed(signature="").plain(), "project": project, "run": run})


class MachineCard(Record):
    """A machine's public key and whose it is; `by` is the approver who vouches for that, with their signature."""

    id: str
    project: str
    public: str
    name: str
    at: str
    by: str = ""
    signature: str = ""

    def message(self) -> bytes:
        """Return what the approver signs."""
        return b"git-nexus machine v1\0" + canonical(self.changed(signature="").plain())


class LogAuthors(StoredRecord):
    """The parts of a log in their order, and the machines that they name."""

    machines: tuple[MachineCard, ...] = ()
    parts: tuple[LogPart, ...] = ()

    def card(self, machine: str) -> MachineCard | None:
        """Return what is said of a machine."""
        return next((one for one in self.machines if one.id == machine), None)


NOBODY = LogAuthors()


def read_authors(raw: bytes | None, where: str) -> LogAuthors:
    """Return who is said to have written a log; nobody where that cannot be read: then all of it is only claimed."""
    if raw is None:
        return NOBODY
    try:
        found = LogAuthors.from_bytes(raw, where)
    except Invalid:
        return NOBODY
    return found if len(found.parts) <= _MOST and len(found.machines) <= _MOST and _in_order(found.parts) else NOBODY


def _in_order(parts: Sequence[LogPart]) -> bool:
    last = 0
    for part in parts:
        if not last <= part.since < part.upto:
            return False
        last = part.upto
    return True
