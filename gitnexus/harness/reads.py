"""Which notes a harness's own file-read tool has just read: the only place where such a read can be seen."""

import os
from collections.abc import Iterator
from typing import Any

from gitnexus.harness.model import Happening
from gitnexus.harness.moment import stamp
from gitnexus.harness.place import place_of
from gitnexus.harness.shelf import Shelf
from gitnexus.memory.accesslog import LOCK, LOG, SINCE, upserted

# By harness, the tools that read files and the fields that may hold paths. A test holds them against the catalog.
READS: dict[str, dict[str, tuple[str, ...]]] = {
    "claude-code": {"Read": ("file_path",)},
    "codex": {},
    "gemini-cli": {"read_file": ("file_path", "absolute_path"), "read_many_files": ("include", "paths")},
    "opencode": {"read": ("filePath",)},
}
_FOLDER = f"{os.sep}.nexus{os.sep}memory"


def read_paths(told: Happening) -> list[str]:
    """Return the files that a finished call of a read tool names; none for any other tool, or if it failed."""
    fields = READS.get(told.harness, {}).get(told.tool, ()) if not told.failed else ()
    start = told.cwd or os.getcwd()
    return [os.path.normpath(os.path.join(start, name)) for field in fields for name in _texts(told.given.get(field))]


def observe_reads(told: Happening) -> None:
    """Count the notes among the files that were read. Raises: NexusError, OSError."""
    seen: dict[str, list[str]] = {}
    for path in read_paths(told):
        folder = os.path.dirname(path)
        # Counted is what lies there as a plain file: not a folder, not a link to something else, not a missing one.
        if path.endswith(".md") and folder.endswith(_FOLDER) and os.path.isfile(path) and not os.path.islink(path):
            real = os.path.realpath(folder)
            seen.setdefault(real.removesuffix(_FOLDER), []).append(os.path.join(real, os.path.basename(path)))
    for worktree, paths in seen.items():
        place = place_of(worktree)
        if place is not None and place.worktree == worktree:
            _count(Shelf(place, told.harness), paths, told.agent or told.agent_id or told.session or told.harness)


def _count(shelf: Shelf, paths: list[str], reader: str) -> None:
    with shelf.exclusive(LOCK):
        moment = stamp()
        if not shelf.has(SINCE):
            shelf.store(SINCE, {"since": moment})
        shelf.put(LOG, upserted(shelf.load(LOG) or b"", paths, moment, reader))


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item and "\0" not in item:
            yield item
