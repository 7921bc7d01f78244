"""Who changed which file last, `.nexus/state/<harness>/edit-tracker.json`: whether an agent may go on depends on it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitnexus.harness.shelf import Shelf

TRACKER = "edit-tracker.json"
# The agent that the person talks to has no id of its own.
LEAD = "lead"
_MOST, _MOST_AGENTS = 1000, 20


def note(shelf: Shelf, files: Sequence[str], agent_id: str, moment: str) -> None:
    """Note that an agent changed these files just now. Raises: Busy, Invalid, OSError."""
    with shelf.exclusive():
        shelf.store(TRACKER, {"files": noted(files_in(shelf), files, agent_id or LEAD, moment)})


def noted(
    known: Mapping[str, Mapping[str, str]], files: Iterable[str], agent_id: str, moment: str
) -> dict[str, dict[str, str]]:
    """Return who changed what and when, these files last; the oldest fall out."""
    after = {file: dict(agents) for file, agents in known.items()}
    for file in files:
        agents = after.pop(file, {})
        agents.pop(agent_id, None)
        after[file] = dict([*agents.items(), (agent_id, moment)][-_MOST_AGENTS:])
    latest = sorted(after.items(), key=lambda item: max(item[1].values(), default=""))
    return dict(latest[-_MOST:])


def files_in(shelf: Shelf) -> dict[str, dict[str, str]]:
    """Return for each file the agents that changed it, with the time of the last change. Raises: Invalid."""
    value = shelf.value(TRACKER)
    files: Any = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict):
        return {}
    return {
        file: {agent: at for agent, at in agents.items() if isinstance(at, str)}
        for file, agents in files.items()
        if isinstance(agents, dict)
    }


def others_since(known: Mapping[str, Mapping[str, str]], agent_id: str, files: Iterable[str], since: str) -> bool:
    """True if somebody else changed one of these files after that time."""
    return any(at > since for file in files for agent, at in known.get(file, {}).items() if agent != agent_id)
