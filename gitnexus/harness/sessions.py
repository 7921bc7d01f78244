"""The sessions of one harness that are open in one worktree, `.nexus/state/<harness>/sessions.json`.

Several may be: each knows its own agents, so that one that ends does not forget those of another.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.harness.moment import seconds_since, stamp
from gitnexus.harness.shelf import Shelf

FILE = "sessions.json"
# A session that was not heard of for so long is taken for one that crashed.
STALE = 24 * 3600
_MOST_AGENTS = 500


class Session(NamedTuple):
    """One open session: when it began and was last heard of, its agents, the skill it is in, whether it was nudged."""

    started_at: str
    seen_at: str
    agents: tuple[str, ...] = ()
    skill: str = ""
    nudged: bool = False
    snapshot_at: str = ""

    @property
    def is_stale(self) -> bool:
        """True for one that surely crashed."""
        return seconds_since(self.seen_at) > STALE


Sessions = dict[str, Session]


def sessions_in(shelf: Shelf) -> Sessions:
    """Return the sessions by id. Raises: Invalid."""
    value = shelf.value(FILE)
    rows = value.get("sessions") if isinstance(value, dict) else None
    return {key: _session(row) for key, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def put(shelf: Shelf, sessions: Sessions) -> None:
    """Write them all; none leaves no file."""
    if sessions:
        shelf.store(FILE, {"sessions": {key: _plain(row) for key, row in sessions.items()}})
    else:
        shelf.drop(FILE)


def seen(sessions: Sessions, key: str, moment: str | None = None) -> Session:
    """Return a session as of now; one that nobody told of before began now."""
    now = moment or stamp()
    return sessions.get(key, Session(now, now))._replace(seen_at=now)


def with_agent(session: Session, agent_id: str) -> Session:
    """Return a session with one more agent."""
    others = tuple(other for other in session.agents if other != agent_id)
    return session._replace(agents=(*others, agent_id)[-_MOST_AGENTS:])


def living(sessions: Sessions) -> Sessions:
    """Return the sessions without those that crashed."""
    return {key: row for key, row in sessions.items() if not row.is_stale}


def _session(row: Mapping[str, Any]) -> Session:
    agents = row.get("agents")
    return Session(
        str(row.get("started_at", "")),
        str(row.get("seen_at", "")),
        tuple(agent for agent in agents if isinstance(agent, str)) if isinstance(agents, list) else (),
        str(row.get("skill", "")),
        row.get("nudged") is True,
        str(row.get("snapshot_at", "")),
    )


def _plain(session: Session) -> dict[str, Any]:
    return {key: value for key, value in session._asdict().items() if value or key in ("started_at", "seen_at")}
