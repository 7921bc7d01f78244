"""The agents of a harness, `.nexus/state/<harness>/agent-tracker.json`, in the words of the contract's schema.

Others read this file: it holds nothing but what the schema knows. What more we know lies beside it.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line, visible
from gitnexus.harness.moment import seconds_since
from gitnexus.harness.sessions import STALE
from gitnexus.harness.shelf import Shelf
from gitnexus.redaction.stored import redact_text

FILE = "agent-tracker.json"
_FOREIGN = re.compile(r"[^a-z0-9]+")
_MESSAGE = 2000
Row = dict[str, Any]


def rows_in(shelf: Shelf) -> list[Row]:
    """Return the agents, in the order in which they were started. Raises: Invalid, and leaves the file as it is."""
    value = shelf.value(FILE)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise Invalid(f".nexus/state/{shelf.harness}/{FILE} should be a list", hint="it is left as it is")
    return value


def put(shelf: Shelf, rows: Sequence[Row]) -> None:
    """Write the agents."""
    shelf.store(FILE, list(rows))


def plain_name(name: str) -> str:
    """Return a role as the schema spells it: without the prefix of a plug-in; empty where nothing is left of it."""
    return _FOREIGN.sub("-", name.rpartition(":")[2].lower()).strip("-").lstrip("0123456789-")[:100]


def plain_id(agent_id: str) -> str:
    """Return an id that any reader can read; for us it means nothing but itself."""
    return one_line(agent_id, 200)


def started(rows: Sequence[Row], harness: str, name: str, agent_id: str, moment: str) -> list[Row]:
    """Return the agents with one more, or with one taken up again that is known."""
    if any(row.get("agent_id") == agent_id for row in rows):
        return [_resumed(row, moment) if row.get("agent_id") == agent_id else row for row in rows]
    row: Row = {"harness_id": harness, "agent_id": agent_id, "started_at": moment, "resume_count": 0}
    return [*rows, {**row, **({"agent_name": name} if name else {}), "status": "running"}]


def completed(rows: Sequence[Row], agent_id: str, moment: str, message: str, files: Sequence[str]) -> list[Row]:
    """Return the agents with one of them done, what it said last and what it changed."""
    said = visible(message[:_MESSAGE])
    done = {"status": "completed", "stopped_at": moment, "files_touched": list(files)}
    done |= {"last_message": redact_text(said)} if said else {}
    return [{**row, **done} if row.get("agent_id") == agent_id else row for row in rows]


def found(rows: Sequence[Row], agent_id: str) -> Row | None:
    """Return one agent."""
    return next((row for row in rows if row.get("agent_id") == agent_id), None)


def kept(rows: Sequence[Row], owned: Collection[str], known: Collection[str]) -> list[Row]:
    """Return the agents to keep: those of sessions that go on, and what nobody's session knows while it is at work.

    `owned` are the agents of sessions that go on, `known` those of any session that was.
    """
    return [
        row
        for row in rows
        if row.get("agent_id") in owned
        or (row.get("agent_id") not in known and row.get("status") == "running" and _is_fresh(row))
    ]


def _is_fresh(row: Row) -> bool:
    return seconds_since(row.get("last_resumed_at") or row.get("started_at")) <= STALE


def _resumed(row: Row, moment: str) -> Row:
    count = row.get("resume_count")
    more = (count if isinstance(count, int) and count >= 0 else 0) + 1
    return {**row, "status": "running", "resume_count": more, "last_resumed_at": moment}
