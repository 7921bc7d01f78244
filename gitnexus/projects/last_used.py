"""Records when a project was last used, at most once an hour, best effort."""

import contextlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from gitnexus.base.clock import format_timestamp, parse_timestamp
from gitnexus.base.errors import NexusError
from gitnexus.projects.model import Project, Registry
from gitnexus.projects.store import REGISTRY, read_registry
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.lock import StateLock

_OFTEN_ENOUGH = timedelta(hours=1)


def note_projects_used(home: State, projects: Iterable[Project], now: datetime) -> None:
    """Record that projects were used. Errors are ignored: the next use records it."""
    stale = [row.hash for row in projects if _is_stale(row, now)]
    if not stale:
        return

    def decide(snapshot: Snapshot) -> Change[None]:
        registry = read_registry(snapshot)
        after = with_last_use(registry, stale, now)
        # Not through registry_file: nothing about the registry is newer for having been read.
        return Change({REGISTRY: after.to_bytes()} if after != registry else {}, "projects: note what is in use", None)

    with contextlib.suppress(NexusError, OSError):
        lock = StateLock(home.repo.common_dir / "nexus" / "lock", patience=0)  # who reads does not wait for writers
        with lock:
            if lock.held:
                home.transact_locked(decide, lock)
        lock.close()


def with_last_use(registry: Registry, hashes: Iterable[str], now: datetime) -> Registry:
    """Return the registry with a new time of last use for some projects. Pure."""
    for key in hashes:
        row = registry.projects.get(key)
        if row is not None and _is_stale(row, now):
            registry = registry.with_row(row.changed(last_access=format_timestamp(now)))
    return registry


def _is_stale(row: Project, now: datetime) -> bool:
    last = parse_timestamp(row.last_access)
    return last is None or now - last >= _OFTEN_ENOUGH
