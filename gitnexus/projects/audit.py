"""The audit: one line for every cross-project write, execute and denial, on the home repository's state ref."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import stamp
from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord
from gitnexus.projects.levels import Level
from gitnexus.state import Snapshot

FOLDER = "audit"
# A line appended writes its file anew; small files keep a thousand lines from costing a thousand times their sum.
_FULL = 32 * 1024


class AuditLine(StoredRecord):
    """What a project did or tried to do to another; projects by hash, null for a caller outside any."""

    timestamp: str
    operation: str
    from_project: str | None
    to_project: str
    task_ref: str | None
    permission_required: Level
    permission_granted: Level
    result: Literal["allowed", "denied"]

    def plain(self) -> dict[str, Any]:
        """Return the JSON value; every line has every field."""
        return {"fromProject": None, "taskRef": None, **super().plain()}


@dataclass(frozen=True, slots=True)
class Read:
    """The newest lines first, how many more there are, and how many could not be read."""

    lines: tuple[AuditLine, ...] = ()
    more: int = 0
    unreadable: int = 0


def appended(snapshot: Snapshot, line: AuditLine, now: datetime) -> dict[str, bytes | None]:
    """Return what to write so that the audit has one more line: nothing that is there changes."""
    month = stamp(now)[:7]
    parts = [name for name in snapshot.names(FOLDER) if name.startswith(f"{month}.")]
    name = parts[-1] if parts else _part(month, 1)
    held = snapshot.read(f"{FOLDER}/{name}") or b""
    if len(held) >= _FULL:
        name, held = _part(month, len(parts) + 1), b""
    if held and not held.endswith(b"\n"):
        held += b"\n"  # somebody cut the last line off; ours is still one of its own
    return {f"{FOLDER}/{name}": held + document(line.plain())}


def read(snapshot: Snapshot, limit: int) -> Read:
    """Return the newest lines."""
    lines: list[AuditLine] = []
    more = unreadable = 0
    for raw in _newest_first(snapshot):
        try:
            line = AuditLine.from_value(parse(raw), FOLDER)
        except Invalid:
            unreadable += 1
            continue
        if len(lines) < limit:
            lines.append(line)
        else:
            more += 1
    return Read(tuple(lines), more, unreadable)


def _newest_first(snapshot: Snapshot) -> Iterator[bytes]:
    for name in reversed(snapshot.names(FOLDER)):
        for raw in reversed((snapshot.read(f"{FOLDER}/{name}") or b"").splitlines()):
            if raw.strip():
                yield raw


def _part(month: str, number: int) -> str:
    return f"{month}.{number:04d}.log"
