"""What somebody is to be told as soon as the program lets us: `.nexus/state/<harness>/mail.jsonl`, a message a line.

Most programs take words for the model at some events only. What is known at another one waits here.
"""

import json
from collections.abc import Collection
from typing import Any

from gitnexus.harness.shelf import Shelf

BOX = "mail.jsonl"
_MOST, _LONGEST = 200, 16_000


def put(shelf: Shelf, to: str, text: str, kind: str = "note") -> None:
    """Leave a message. A snapshot takes the place of an older one. Raises: Busy, OSError."""
    message = {"to": to, "kind": kind, "text": text[:_LONGEST]}
    with shelf.exclusive():
        rows = [row for row in _rows(shelf) if kind != "snapshot" or (row["to"], row["kind"]) != (to, kind)]
        _write(shelf, [*rows, message][-_MOST:])


def take(shelf: Shelf, to: str, kind: str = "", *, first: bool = False) -> list[str]:
    """Return the messages for somebody, of one kind or all but briefs, and take them away. Raises: Busy, OSError."""
    if not shelf.has(BOX):  # nearly always, and after every tool
        return []
    with shelf.exclusive():
        rows = _rows(shelf)
        mine = [row for row in rows if row["to"] == to and (row["kind"] == kind if kind else row["kind"] != "brief")]
        mine = mine[:1] if first else mine
        if mine:
            _write(shelf, [row for row in rows if row not in mine])
    return [row["text"] for row in mine]


def forget(shelf: Shelf, session: str, agents: Collection[str]) -> None:
    """Take away all that waits for a session that is gone, and for its agents. Raises: Busy, OSError."""
    if shelf.has(BOX):
        gone = {session, *agents}
        with shelf.exclusive():
            # What was kept for an agent that was never started stands under its session and its role.
            _write(
                shelf,
                [row for row in _rows(shelf) if row["to"] not in gone and not row["to"].startswith(f"{session}/")],
            )


def _rows(shelf: Shelf) -> list[dict[str, Any]]:
    found = []
    for raw in (shelf.load(BOX) or b"").split(b"\n"):
        try:
            value = json.loads(raw) if raw else None
        except ValueError:
            continue
        if isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("to", "kind", "text")):
            found.append(value)
    return found


def _write(shelf: Shelf, rows: list[dict[str, Any]]) -> None:
    if not rows:
        shelf.drop(BOX)
        return
    shelf.store_lines(BOX, rows)
