"""Reads and writes the open sessions of one harness in one worktree, `.nexus/state/<harness>/sessions.json`.

Several may be open. Each lists its own agents, so that ending one does not remove the agents of another.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.harness.moment import format_timestamp, seconds_since
from gitnexus.harness.session_files import SessionFiles

FILE = "sessions.json"
# The skills of sessions that ended: a program that takes one up again is in the middle of it.
ENDED = "ended-sessions.json"
_MOST_ENDED = 50
# A session that was not heard of for so long is taken for one that crashed.
STALE = 24 * 3600
_MOST_AGENTS = 500


class HarnessSession(NamedTuple):
    """One open session: start, last event, its agents, its skill, and whether it was reminded."""

    started_at: str
    seen_at: str
    agents: tuple[str, ...] = ()
    skill: str = ""
    nudged: bool = False
    snapshot_at: str = ""

    @property
    def is_stale(self) -> bool:
        """Return True for a session that must have crashed."""
        return seconds_since(self.seen_at) > STALE


Sessions = dict[str, HarnessSession]


def read_open_sessions(files: SessionFiles) -> Sessions:
    """Return the sessions by id. Raises: Invalid."""
    value = files.value(FILE)
    rows = value.get("sessions") if isinstance(value, dict) else None
    return (
        {key: _parse_session(row) for key, row in rows.items() if isinstance(row, dict)}
        if isinstance(rows, dict)
        else {}
    )


def started_at(files: SessionFiles, key: str) -> int:
    """Return when a session began in nanoseconds, 0 if that is not known. What changed before is no work of it."""
    try:
        session = read_open_sessions(files).get(key)
    except NexusError:
        return 0
    age = seconds_since(session.started_at) if session is not None else float("inf")
    return 0 if age == float("inf") else time.time_ns() - int(age * 10**9)


def write_open_sessions(files: SessionFiles, sessions: Sessions) -> None:
    """Write all sessions; an empty mapping removes the file."""
    if sessions:
        files.store(FILE, {"sessions": {key: _session_as_json(row) for key, row in sessions.items()}})
    else:
        files.drop(FILE)


def session_seen_now(sessions: Sessions, key: str, moment: str | None = None) -> HarnessSession:
    """Return a session with the time of its last event set; an unknown one starts now."""
    now = moment or format_timestamp()
    return sessions.get(key, HarnessSession(now, now))._replace(seen_at=now)


def keep_skill(files: SessionFiles, key: str, skill: str) -> None:
    """Store the skill of a session that ends."""
    held = files.value(ENDED)
    rows = held if isinstance(held, dict) else {}
    after = {name: kept for name, kept in rows.items() if name != key}
    if skill:
        after[key] = {"skill": skill, "at": format_timestamp()}
    if after != rows:
        latest = sorted(after.items(), key=lambda item: str(item[1].get("at", "")) if isinstance(item[1], dict) else "")
        files.store(ENDED, dict(latest[-_MOST_ENDED:]))


def kept_skill(files: SessionFiles, key: str) -> str:
    """Return the skill of a session when it ended, empty if it had none."""
    held = files.value(ENDED)
    row = held.get(key) if isinstance(held, dict) else None
    return str(row.get("skill", "")) if isinstance(row, dict) else ""


def with_agent(session: HarnessSession, agent_id: str) -> HarnessSession:
    """Return a session with one more agent."""
    others = tuple(other for other in session.agents if other != agent_id)
    return session._replace(agents=(*others, agent_id)[-_MOST_AGENTS:])


def without_stale_sessions(sessions: Sessions) -> Sessions:
    """Return the sessions without those that crashed."""
    return {key: row for key, row in sessions.items() if not row.is_stale}


def _parse_session(row: Mapping[str, Any]) -> HarnessSession:
    agents = row.get("agents")
    return HarnessSession(
        str(row.get("started_at", "")),
        str(row.get("seen_at", "")),
        tuple(agent for agent in agents if isinstance(agent, str)) if isinstance(agents, list) else (),
        str(row.get("skill", "")),
        row.get("nudged") is True,
        str(row.get("snapshot_at", "")),
    )


def _session_as_json(session: HarnessSession) -> dict[str, Any]:
    return {key: value for key, value in session._asdict().items() if value or key in ("started_at", "seen_at")}
