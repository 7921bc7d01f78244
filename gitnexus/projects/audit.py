"""Appends and reads audit lines for cross-project writes, executes and denials, on the home state ref."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord
from gitnexus.projects.levels import Level
from gitnexus.state import Snapshot

FOLDER = "audit"
# Appending a line rewrites its file; with small files, the cost of a thousand lines stays low.
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
class AuditPage:
    """The newest lines, the number of further ones, and the number of unreadable ones."""

    lines: tuple[AuditLine, ...] = ()
    more: int = 0
    unreadable: int = 0


def files_with_line(snapshot: Snapshot, line: AuditLine, now: datetime) -> dict[str, bytes | None]:
    """Return the files to write in order to append one audit line."""
    month = format_timestamp(now)[:7]
    parts = [name for name in snapshot.names(FOLDER) if name.startswith(f"{month}.")]
    name = parts[-1] if parts else _part_name(month, 1)
    held = snapshot.read(f"{FOLDER}/{name}") or b""
    if len(held) >= _FULL:
        name, held = _part_name(month, len(parts) + 1), b""
    if held and not held.endswith(b"\n"):
        held += b"\n"  # somebody cut the last line off; ours is still one of its own
    return {f"{FOLDER}/{name}": held + json_document(line.plain())}


def read_audit(snapshot: Snapshot, limit: int) -> AuditPage:
    """Return the newest lines."""
    lines: list[AuditLine] = []
    more = unreadable = 0
    for raw in _newest_first(snapshot):
        try:
            line = AuditLine.from_value(parse_json(raw), FOLDER)
        except Invalid:
            unreadable += 1
            continue
        if len(lines) < limit:
            lines.append(line)
        else:
            more += 1
    return AuditPage(tuple(lines), more, unreadable)


def _newest_first(snapshot: Snapshot) -> Iterator[bytes]:
    for name in reversed(snapshot.names(FOLDER)):
        for raw in reversed((snapshot.read(f"{FOLDER}/{name}") or b"").splitlines()):
            if raw.strip():
                yield raw


def _part_name(month: str, number: int) -> str:
    return f"{month}.{number:04d}.log"
