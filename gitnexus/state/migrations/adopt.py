"""0 → 1: a tree that another tool or a hand put on the ref becomes ours; every file stays."""

from datetime import datetime

from gitnexus.state.format import new_tree
from gitnexus.state.snapshot import Snapshot


def from_foreign(snapshot: Snapshot, now: datetime) -> dict[str, bytes | None]:
    """Return what a foreign tree lacks to be a project."""
    return {path: data for path, data in new_tree("project", now).items() if snapshot.oid(path) is None}
