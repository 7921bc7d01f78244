"""Records which agent changed which file last, `.nexus/state/<harness>/edit-tracker.json`; needed to resume agents."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitnexus.harness.session_files import SessionFiles

TRACKER = "edit-tracker.json"
# The agent that the person talks to has no id of its own.
LEAD = "lead"
_MOST, _MOST_AGENTS = 1000, 20


def record_file_edits(session_files: SessionFiles, files: Sequence[str], agent_id: str, moment: str) -> None:
    """Record that an agent changed these files just now. Raises: Busy, Invalid, OSError."""
    with session_files.exclusive():
        session_files.store(
            TRACKER, {"files": with_file_edits(read_edited_files(session_files), files, agent_id or LEAD, moment)}
        )


def with_file_edits(
    known: Mapping[str, Mapping[str, str]], files: Iterable[str], agent_id: str, moment: str
) -> dict[str, dict[str, str]]:
    """Return the edit records with these files added last; the oldest are dropped."""
    after = {file: dict(agents) for file, agents in known.items()}
    for file in files:
        agents = after.pop(file, {})
        agents.pop(agent_id, None)
        after[file] = dict([*agents.items(), (agent_id, moment)][-_MOST_AGENTS:])
    latest = sorted(after.items(), key=lambda item: max(item[1].values(), default=""))
    return dict(latest[-_MOST:])


def read_edited_files(session_files: SessionFiles) -> dict[str, dict[str, str]]:
    """Return for each file the agents that changed it, with the time of the last change. Raises: Invalid."""
    value = session_files.value(TRACKER)
    files: Any = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict):
        return {}
    return {
        file: {agent: at for agent, at in agents.items() if isinstance(at, str)}
        for file, agents in files.items()
        if isinstance(agents, dict)
    }


def is_edited_by_others(
    known: Mapping[str, Mapping[str, str]], agent_id: str, files: Iterable[str], since: str
) -> bool:
    """Return True if another agent changed one of these files after that time."""
    return any(at > since for file in files for agent, at in known.get(file, {}).items() if agent != agent_id)
