"""Which notes a harness's own file-read tool has just read: the only place where such a read can be seen."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gitnexus.catalog.harnesses import Harness
from gitnexus.git import discover
from gitnexus.memory import Notes
from gitnexus.memory.access import observe
from gitnexus.state import State

_FOLDER = f"{os.sep}.nexus{os.sep}memory"


def read_paths(harness: Harness, payload: Mapping[str, Any]) -> list[Path]:
    """Return the files that a finished call of a read tool names; none for any other tool, or if it failed."""
    given = payload.get("tool_input")
    tool = next((tool for tool in harness.reads if tool.name == payload.get("tool_name")), None)
    if tool is None or not isinstance(given, Mapping) or _failed(payload):
        return []
    cwd = payload.get("cwd")
    start = Path(cwd) if isinstance(cwd, str) and cwd else Path.cwd()
    return [Path(os.path.normpath(start / name)) for field in tool.fields for name in _texts(given.get(field))]


def observe_reads(harness: Harness, payload: Mapping[str, Any]) -> list[str]:
    """Count the notes among the files that were read; return their names. Raises: NexusError, OSError."""
    seen: dict[Path, list[str]] = {}
    for path in read_paths(harness, payload):
        folder = path.parent
        # Counted is what lies there as a plain file: not a folder, not a link to something else, not a missing one.
        if path.suffix == ".md" and str(folder).endswith(_FOLDER) and path.is_file() and not path.is_symlink():
            seen.setdefault(folder.parent.parent, []).append(path.stem)
    for place, names in seen.items():
        state = State.open(discover(place))
        try:
            observe(Notes(state, harness=harness.id, reader=_reader(harness, payload)), names, by_hook=True)
        finally:
            state.close()
    return [name for names in seen.values() for name in names]


def _reader(harness: Harness, payload: Mapping[str, Any]) -> str:
    """Return who read: the sub-agent if the harness names one, else the session, else the harness."""
    for field in ("agent_type", "agent_id", "session_id"):
        value = payload.get(field)
        if isinstance(value, str) and value:
            return value[:200]
    return harness.id


def _failed(payload: Mapping[str, Any]) -> bool:
    answer = payload.get("tool_response")
    return isinstance(answer, Mapping) and bool(answer.get("error") or answer.get("is_error"))


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item and "\0" not in item:
            yield item
