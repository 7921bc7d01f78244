"""Tracks the agents of a session for each harness: started, finished, resumed, and the files they touched."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from gitnexus.base.clock import format_precise_timestamp
from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.base.record import Count, NotEmpty, Timestamp
from gitnexus.cycle.model import CycleRecord, HarnessName
from gitnexus.cycle.session import ARTIFACTS, Session

TRACKER = "agent-tracker.json"
_NAME = re.compile(r"^[a-z][a-z0-9-]*$")


class AgentEntry(CycleRecord):
    """One row of `.nexus/state/<harness>/agent-tracker.json`."""

    harness_id: HarnessName
    started_at: Timestamp
    agent_name: HarnessName | None = None
    agent_id: NotEmpty | None = None
    last_resumed_at: Timestamp | None = None
    resume_count: Count | None = None
    status: Literal["running", "completed"] | None = None
    stopped_at: Timestamp | None = None
    last_message: str | None = None
    files_touched: tuple[str, ...] | None = None


def track_agent_start(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Note that an agent was started."""
    if not params["agent_id"]:
        raise Invalid("agent_id should not be empty")
    harness = calling_harness(session, params)
    entry = AgentEntry(
        harness_id=harness,
        agent_name=plain_agent_name(params["agent_name"]),
        agent_id=params["agent_id"],
        started_at=format_precise_timestamp(session.clock()),
        resume_count=0,
        status="running",
    )
    with session.exclusive():
        rows = session.rows([harness], TRACKER, AgentEntry)
        if any(row.agent_id == entry.agent_id for row in rows):
            raise Duplicate(f"Agent {entry.agent_id} is tracked already", hint="agent_resume takes it up again")
        session.put_rows([harness], TRACKER, [*rows, entry])
    return {"agent": entry.plain()}


def track_agent_end(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Note that an agent is done, what it said last and what it touched."""
    fields: dict[str, Any] = {"status": "completed", "stopped_at": format_precise_timestamp(session.clock())}
    if "last_message" in params:
        fields["last_message"] = params["last_message"]
    if "files_touched" in params:
        fields["files_touched"] = tuple(params["files_touched"])
    return _update_agent_entry(session, params, lambda _row: fields)


def track_agent_resume(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Record that an agent was resumed."""
    moment = format_precise_timestamp(session.clock())
    return _update_agent_entry(
        session,
        params,
        lambda row: {"status": "running", "resume_count": (row.resume_count or 0) + 1, "last_resumed_at": moment},
    )


def calling_harness(session: Session, params: Mapping[str, Any]) -> str:
    """Return the harness that calls: as it says, or as the session was opened for. Raises: Invalid."""
    harness = params.get("harness_id") or session.harness
    if not _NAME.fullmatch(harness) or harness == ARTIFACTS:
        raise Invalid(f"harness_id {harness[:40]!r} should be lower-case letters, digits and -")
    return str(harness)


def plain_agent_name(name: str) -> str:
    """Return an agent's name without the prefix that a plug-in system puts before it. Raises: Invalid."""
    bare = name.rpartition(":")[2]
    if not _NAME.fullmatch(bare):
        raise Invalid(f"agent_name {name[:40]!r} should be lower-case letters, digits and -")
    return bare


def _update_agent_entry(session: Session, params: Mapping[str, Any], change: Any) -> dict[str, Any]:
    harness, agent_id = calling_harness(session, params), params["agent_id"]
    with session.exclusive():
        rows = session.rows([harness], TRACKER, AgentEntry)
        at = next((at for at, row in enumerate(rows) if row.agent_id == agent_id), None)
        if at is None:
            raise NotFound(f"Agent {agent_id} not found")
        rows[at] = rows[at].changed(**change(rows[at]))
        session.put_rows([harness], TRACKER, rows)
    return {"agent": rows[at].plain()}
