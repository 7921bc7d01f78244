"""Forget the projects that are gone, with every permission that names them, in one commit."""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitnexus.base.clock import read
from gitnexus.projects.grants import written_permissions
from gitnexus.projects.model import Project
from gitnexus.projects.permissions import Permissions
from gitnexus.projects.place import Health, health
from gitnexus.projects.register import removal
from gitnexus.projects.sealing import sealed
from gitnexus.projects.store import read_registry
from gitnexus.state import Change, Snapshot, State

MISSING = "its folder is gone"


@dataclass(frozen=True, slots=True)
class Gone:
    """A project that goes, and why."""

    project: Project
    why: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went or would go: rows, how many permissions named one of them, and how many rows stay."""

    gone: tuple[Gone, ...]
    permissions: int
    kept: int


def prune(home: State, now: datetime, *, older_than: int | None, dry_run: bool, here: str | None) -> Pruned:
    """Take out what is missing or no longer a project, and if asked what nobody used for `older_than` days.

    `here` is the hash of the current project, which is in use. Raises: Invalid, and nothing changes.
    """
    # Looked at before the lock is held, for that starts git. What changes meanwhile stays.
    candidates = [(row, health(row)[0]) for row in read_registry(home.latest()).sorted()]
    judgements = [found for row, how in candidates if (found := judged(row, how, now, older_than, here)) is not None]

    def decide(snapshot: Snapshot) -> Change[Pruned]:
        rows = read_registry(snapshot).projects
        gone = tuple(one for one in judgements if rows.get(one.project.hash) == one.project and not _is_back(one))
        doomed = [one.project for one in gone]
        told = Pruned(gone, _naming(written_permissions(snapshot), doomed), len(rows) - len(gone))
        if dry_run or not gone:
            return Change({}, "", told)
        return Change(removal(snapshot, doomed, now), f"projects: prune {', '.join(p.name for p in doomed[:5])}", told)

    return sealed(home, decide)


def judged(row: Project, how: Health, now: datetime, older_than: int | None, here: str | None) -> Gone | None:
    """Return why a project goes, None if it stays. One that merely cannot be read now stays."""
    match how:
        case "missing":
            return Gone(row, MISSING)
        case "not a project":
            return Gone(row, "it is no longer a project")
    last = read(row.last_access)
    if older_than is not None and last is not None and row.hash != here and now - last > timedelta(days=older_than):
        return Gone(row, f"last used {last:%Y-%m-%d}")
    return None


def _is_back(gone: Gone) -> bool:
    return gone.why == MISSING and os.path.lexists(gone.project.path)


def _naming(permissions: Permissions, doomed: list[Project]) -> int:
    hashes = {row.hash for row in doomed}
    return sum(bool(hashes & {row.from_, row.to}) for row in permissions.project_relationships)
