"""Migration 0 to 1: adds the project files missing in a state tree that another tool made. Existing files are kept."""

from datetime import datetime

from gitnexus.state.format import new_state_files
from gitnexus.state.snapshot import Snapshot


def missing_project_files(snapshot: Snapshot, now: datetime) -> dict[str, bytes | None]:
    """Return the files that a tree made by others lacks to be a project."""
    return {path: data for path, data in new_state_files("project", now).items() if snapshot.oid(path) is None}
