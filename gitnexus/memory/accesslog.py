"""Adds reads to the text of the access log. Pure; shared by the state and by hooks that cannot afford to open it."""

from collections.abc import Sequence
from typing import Any

from gitnexus.base.canonical import canonical_json, parse_json
from gitnexus.base.errors import Invalid

LOG = "memory-access.jsonl"
# The log may contain nothing but its rows; a file beside it says since when it exists.
SINCE = "memory-tracking.json"
LOCK = "memory-access"
_VERSION = "1.0"
_TEXTS = ("path", "last_accessed_ts", "last_agent")


def with_reads_added(raw: bytes, paths: Sequence[str], moment: str, reader: str) -> bytes:
    """Return the log with one more read of each path; lines that cannot be parsed are kept unchanged."""
    lines = raw.split(b"\n")
    rows = {row["path"]: (at, row) for at, row in enumerate(map(_parse_log_row, lines)) if row is not None}
    for path in paths:
        at, known = rows.get(path, (len(lines), {"path": path, "access_count": 0, "schema_version": _VERSION}))
        row = {**known, "last_accessed_ts": moment, "access_count": known["access_count"] + 1, "last_agent": reader}
        lines[at : at + 1] = [canonical_json(row)]
        rows[path] = (at, row)
    return b"\n".join(line for line in lines if line) + b"\n"


def _parse_log_row(line: bytes) -> dict[str, Any] | None:
    try:
        row = parse_json(line) if line.strip() else None
    except Invalid:
        return None
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in _TEXTS):
        return None
    return row if type(row.get("access_count")) is int else None
