"""Reads and writes the agents of a harness, `.nexus/state/<harness>/agent-tracker.json`, in the contract's schema.

Other programs read this file, so it contains only fields of the schema. Further data is stored beside it.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.base.text import make_visible, one_line
from gitnexus.harness.moment import seconds_since
from gitnexus.harness.session_files import SessionFiles
from gitnexus.harness.sessions import STALE
from gitnexus.redaction.stored import redact_text

FILE = "agent-tracker.json"
_FOREIGN = re.compile(r"[^a-z0-9]+")
_MESSAGE = 2000
Row = dict[str, Any]


def read_tracked_agents(files: SessionFiles) -> list[Row]:
    """Return the agents in the order of their start. Raises: Invalid, and leaves the file unchanged."""
    value = files.value(FILE)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise Invalid(f".nexus/state/{files.harness}/{FILE} should be a list", hint="it is left as it is")
    return value


def write_tracked_agents(files: SessionFiles, rows: Sequence[Row]) -> None:
    """Write the agents."""
    files.store(FILE, list(rows))


def plain_role_name(name: str) -> str:
    """Return a role as the schema spells it, without a plug-in prefix; empty if nothing is left."""
    return _FOREIGN.sub("-", name.rpartition(":")[2].lower()).strip("-").lstrip("0123456789-")[:100]


def plain_agent_id(agent_id: str) -> str:
    """Return an agent id in characters that any reader accepts."""
    return one_line(agent_id, 200)


def with_agent_started(rows: Sequence[Row], harness: str, name: str, agent_id: str, moment: str) -> list[Row]:
    """Return the agents with one added, or a known one resumed."""
    if any(row.get("agent_id") == agent_id for row in rows):
        return [_with_resumed_run(row, moment) if row.get("agent_id") == agent_id else row for row in rows]
    row: Row = {"harness_id": harness, "agent_id": agent_id, "started_at": moment, "resume_count": 0}
    return [*rows, {**row, **({"agent_name": name} if name else {}), "status": "running"}]


def with_agent_completed(
    rows: Sequence[Row], agent_id: str, moment: str, message: str, files: Sequence[str]
) -> list[Row]:
    """Return the agents with one completed, with its last message and changed files."""
    said = make_visible(message[:_MESSAGE])
    done = {"status": "completed", "stopped_at": moment, "files_touched": list(files)}
    done |= {"last_message": redact_text(said)} if said else {}
    return [{**row, **done} if row.get("agent_id") == agent_id else row for row in rows]


def find_tracked_agent(rows: Sequence[Row], agent_id: str) -> Row | None:
    """Return one agent."""
    return next((row for row in rows if row.get("agent_id") == agent_id), None)


def agents_to_keep(rows: Sequence[Row], owned: Collection[str], known: Collection[str]) -> list[Row]:
    """Return the agents to keep: those of open sessions, and running ones that belong to no known session.

    `owned` are the agents of open sessions, `known` those of any session.
    """
    return [
        row
        for row in rows
        if row.get("agent_id") in owned
        or (row.get("agent_id") not in known and row.get("status") == "running" and _is_recently_active(row))
    ]


def _is_recently_active(row: Row) -> bool:
    return seconds_since(row.get("last_resumed_at") or row.get("started_at")) <= STALE


def _with_resumed_run(row: Row, moment: str) -> Row:
    count = row.get("resume_count")
    more = (count if isinstance(count, int) and count >= 0 else 0) + 1
    return {**row, "status": "running", "resume_count": more, "last_resumed_at": moment}
