"""Counts who read which note, and how often: one line per file in `.nexus/state/<harness>/memory-access.jsonl`.

Only reads are recorded, one at a time and under a lock; a line that does not parse belongs to others and is kept.
"""

import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import format_precise_timestamp
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.git.worktrees import list_worktrees
from gitnexus.memory.accesslog import LOCK, LOG, SINCE, with_reads_added
from gitnexus.memory.model import AccessLogRow, NoteUse
from gitnexus.memory.notes import FOLDER, Notes
from gitnexus.state import disk
from gitnexus.state.layout import SESSION_FOLDER

_HARNESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def count_note_read(notes: Notes, name: str) -> str | None:
    """Count one read of a note by a tool; return the reason if that failed. A failure never prevents the read."""
    try:
        record_note_reads(notes, [name])
    except NexusError as exc:
        return exc.message
    except OSError as exc:
        return exc.strerror or str(exc)
    return None


def record_note_reads(notes: Notes, names: Sequence[str], *, by_hook: bool = False) -> None:
    """Count reads of these notes now. A call by a hook shows that reads in the harness are observed.

    Raises: NexusError, OSError.
    """
    local = notes.local
    if local is None or not names or not _HARNESS.fullmatch(local.harness):
        return
    parts = [SESSION_FOLDER, local.harness]
    paths = [str(local.folder / FOLDER / f"{name}.md") for name in names]
    with local.exclusive(LOCK):
        before = local.load("/".join([*parts, LOG])) or b""
        moment = format_precise_timestamp(notes.clock())
        if by_hook and local.load("/".join([*parts, SINCE])) is None:
            local.put_bytes(parts, SINCE, json_document({"since": moment}))
        local.put_bytes(parts, LOG, with_reads_added(before, paths, moment, notes.reader or "unknown"))


def reads_observed_since(notes: Notes) -> datetime | None:
    """Return the time since which this harness reports reads in this worktree, None if it never did."""
    local = notes.local
    if local is None or not _HARNESS.fullmatch(local.harness):
        return None
    try:
        value = parse_json(local.load(f"{SESSION_FOLDER}/{local.harness}/{SINCE}") or b"null")
    except Invalid:
        return None
    return _parse_moment(str(value.get("since"))) if isinstance(value, dict) else None


def read_note_uses(notes: Notes) -> dict[str, NoteUse]:
    """Return the use of every note, summed over all harnesses and worktrees of this repository."""
    found: dict[str, NoteUse] = {}
    for worktree in list_worktrees(notes.state.repo):
        folder = worktree.path / ".nexus"
        for raw in _read_access_logs(folder):
            for row in filter(None, map(_parse_log_row, raw.split(b"\n"))):
                path = Path(row.path)
                if path.parent.name == FOLDER and path.parent.parent.name == ".nexus":
                    name = path.name.removesuffix(".md")
                    found[name] = _use_with_row(found.get(name, NoteUse()), row)
    return found


def _read_access_logs(folder: Path) -> list[bytes]:
    try:
        with disk.open_folder(folder, [SESSION_FOLDER]):
            harnesses = sorted(row.name for row in (folder / SESSION_FOLDER).iterdir())
    except (OSError, disk.Obstructed):
        return []
    logs = []
    for harness in harnesses:
        with contextlib.suppress(OSError, disk.Obstructed):
            held = disk.load_path(folder, f"{SESSION_FOLDER}/{harness}/{LOG}", 64 * 1024 * 1024)
            if held:
                logs.append(held[0])
    return logs


def _use_with_row(use: NoteUse, row: AccessLogRow) -> NoteUse:
    moment = _parse_moment(row.last_accessed_ts)
    newer = moment is not None and (use.last is None or moment > use.last)
    return NoteUse(
        use.count + max(0, row.access_count),
        moment if newer else use.last,
        row.last_agent if newer else use.reader or row.last_agent,
    )


def _parse_moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _parse_log_row(line: bytes) -> AccessLogRow | None:
    try:
        return AccessLogRow.from_value(parse_json(line), LOG) if line.strip() else None
    except Invalid:
        return None
