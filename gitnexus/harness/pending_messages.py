"""Queues messages until the program accepts text for the model: `.nexus/state/<harness>/mail.jsonl`, one a line.

Most programs accept text for the model at some events only. Messages from other events wait here.
"""

import json
from collections.abc import Collection
from typing import Any

from gitnexus.harness.session_files import SessionFiles

BOX = "mail.jsonl"
_MOST, _LONGEST = 200, 16_000


def add_pending_message(files: SessionFiles, to: str, text: str, kind: str = "note") -> None:
    """Queue a message. A snapshot replaces an older one. Raises: Busy, OSError."""
    from gitnexus.redaction.stored import redact_text  # only who leaves a message pays

    message = {"to": to, "kind": kind, "text": redact_text(text)[:_LONGEST]}
    with files.exclusive():
        rows = [row for row in _read_messages(files) if kind != "snapshot" or (row["to"], row["kind"]) != (to, kind)]
        _write_messages(files, [*rows, message][-_MOST:])


def take_pending_messages(files: SessionFiles, to: str, kind: str = "", *, first: bool = False) -> list[str]:
    """Return and remove the messages for a reader, of one kind or all but briefs. Raises: Busy, OSError."""
    if not files.has(BOX):  # nearly always, and after every tool
        return []
    with files.exclusive():
        rows = _read_messages(files)
        mine = [row for row in rows if row["to"] == to and (row["kind"] == kind if kind else row["kind"] != "brief")]
        mine = mine[:1] if first else mine
        if mine:
            _write_messages(files, [row for row in rows if row not in mine])
    return [row["text"] for row in mine]


def drop_session_messages(files: SessionFiles, session: str, agents: Collection[str]) -> None:
    """Remove all messages for a session that is gone, and for its agents. Raises: Busy, OSError."""
    if files.has(BOX):
        gone = {session, *agents}
        with files.exclusive():
            # Messages for an agent that was never started are stored under its session and its role.
            _write_messages(
                files,
                [
                    row
                    for row in _read_messages(files)
                    if row["to"] not in gone and not row["to"].startswith(f"{session}/")
                ],
            )


def _read_messages(files: SessionFiles) -> list[dict[str, Any]]:
    found = []
    for raw in (files.load(BOX) or b"").split(b"\n"):
        try:
            value = json.loads(raw) if raw else None
        except ValueError:
            continue
        if isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("to", "kind", "text")):
            found.append(value)
    return found


def _write_messages(files: SessionFiles, rows: list[dict[str, Any]]) -> None:
    if not rows:
        files.drop(BOX)
        return
    files.store_lines(BOX, rows)
