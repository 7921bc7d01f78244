"""Counts which notes a harness's own file-read tool has read; such reads are visible nowhere else."""

import os
from collections.abc import Iterator
from typing import Any

from gitnexus.harness.model import HarnessEvent
from gitnexus.harness.moment import format_timestamp
from gitnexus.harness.session_files import SessionFiles
from gitnexus.memory.accesslog import LOCK, LOG, SINCE, with_reads_added
from gitnexus.state.locate import locate_project

# By harness, the tools that read files and the fields that may hold paths. A test holds them against the catalog.
READS: dict[str, dict[str, tuple[str, ...]]] = {
    "claude-code": {"Read": ("file_path",)},
    "codex": {},
    "gemini-cli": {"read_file": ("file_path", "absolute_path"), "read_many_files": ("include", "paths")},
    "opencode": {"read": ("filePath",)},
}
_FOLDER = f"{os.sep}.nexus{os.sep}memory"


def paths_of_read_call(event: HarnessEvent) -> list[str]:
    """Return the files that a finished call of a read tool names; none for another tool, or if it failed."""
    fields = READS.get(event.harness, {}).get(event.tool, ()) if not event.failed else ()
    start = event.cwd or os.getcwd()
    return [
        os.path.normpath(os.path.join(start, name))
        for field in fields
        for name in _iterate_path_texts(event.given.get(field))
    ]


def count_note_reads(event: HarnessEvent) -> None:
    """Count reads of the notes among the files that were read. Raises: NexusError, OSError."""
    seen: dict[str, list[str]] = {}
    for path in paths_of_read_call(event):
        folder = os.path.dirname(path)
        # Counted is what lies there as a plain file: not a folder, not a link to something else, not a missing one.
        if path.endswith(".md") and folder.endswith(_FOLDER) and os.path.isfile(path) and not os.path.islink(path):
            real = os.path.realpath(folder)
            seen.setdefault(real.removesuffix(_FOLDER), []).append(os.path.join(real, os.path.basename(path)))
    for worktree, paths in seen.items():
        place = locate_project(worktree)
        if place is not None and place.top == worktree:
            _record_note_reads(
                SessionFiles(place, event.harness),
                paths,
                event.agent or event.agent_id or event.session or event.harness,
            )


def _record_note_reads(files: SessionFiles, paths: list[str], reader: str) -> None:
    with files.exclusive(LOCK):
        moment = format_timestamp()
        if not files.has(SINCE):
            files.store(SINCE, {"since": moment})
        files.put(LOG, with_reads_added(files.load(LOG) or b"", paths, moment, reader))


def _iterate_path_texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item and "\0" not in item:
            yield item
