"""Which notes a harness's own file-read tool has just read: the only place where such a read can be seen."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitnexus.catalog.harnesses import Harness
from gitnexus.git import discover
from gitnexus.harness.model import Happening
from gitnexus.memory import Notes
from gitnexus.memory.access import observe
from gitnexus.state import State

_FOLDER = f"{os.sep}.nexus{os.sep}memory"


def read_paths(harness: Harness, told: Happening) -> list[Path]:
    """Return the files that a finished call of a read tool names; none for any other tool, or if it failed."""
    tool = next((tool for tool in harness.reads if tool.name == told.tool), None)
    if tool is None or told.failed:
        return []
    start = Path(told.cwd) if told.cwd else Path.cwd()
    return [Path(os.path.normpath(start / name)) for field in tool.fields for name in _texts(told.given.get(field))]


def observe_reads(harness: Harness, told: Happening) -> list[str]:
    """Count the notes among the files that were read; return their names. Raises: NexusError, OSError."""
    seen: dict[Path, list[str]] = {}
    reader = told.agent or told.agent_id or told.session or harness.id
    for path in read_paths(harness, told):
        folder = path.parent
        # Counted is what lies there as a plain file: not a folder, not a link to something else, not a missing one.
        if path.suffix == ".md" and str(folder).endswith(_FOLDER) and path.is_file() and not path.is_symlink():
            seen.setdefault(folder.parent.parent, []).append(path.stem)
    for place, names in seen.items():
        state = State.open(discover(place))
        try:
            observe(Notes(state, harness=harness.id, reader=reader), names, by_hook=True)
        finally:
            state.close()
    return [name for names in seen.values() for name in names]


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item and "\0" not in item:
            yield item
