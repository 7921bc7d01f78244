"""Tells what one call of an agent used, of programs that report the counts of their whole session each time.

What a session had used before is kept in the run's folder, out of the agent's reach.
"""

import json
from typing import NamedTuple

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.base.files import replace_file
from gitnexus.runs.open_run import OpenRun

_FILE = "sessions.json"
# A program that takes up a session reports its earlier calls again.
_COUNTS_SESSION = ("codex",)


class SessionTokens(NamedTuple):
    """The tokens of a session, in and out."""

    tokens_in: int = 0
    tokens_out: int = 0


def tokens_before_call(run: OpenRun, adapter: str, session: str) -> SessionTokens:
    """Return what a program will report again of the session that it resumes."""
    known = _read_sessions(run).get(session) if session and adapter in _COUNTS_SESSION else None
    return SessionTokens(*known) if known else SessionTokens()


def usage_of_call(run: OpenRun, adapter: str, ended: AgentEnd, before: SessionTokens) -> AgentEnd:
    """Return the end with the usage of this call alone, and keep that of the session."""
    if adapter not in _COUNTS_SESSION:
        return ended
    if ended.session:
        known = {**_read_sessions(run), ended.session: [ended.tokens_in, ended.tokens_out]}
        replace_file(run.folder / _FILE, json.dumps(known).encode(), 0o600)
    return ended.changed(
        tokens_in=max(0, ended.tokens_in - before.tokens_in), tokens_out=max(0, ended.tokens_out - before.tokens_out)
    )


def _read_sessions(run: OpenRun) -> dict[str, list[int]]:
    try:
        found: dict[str, list[int]] = json.loads((run.folder / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return found
