"""Removes missing projects from the registry, with every permission that names them, in one commit."""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitnexus.base.clock import parse_timestamp
from gitnexus.projects.grants import read_written_permissions
from gitnexus.projects.model import Project
from gitnexus.projects.permissions import Permissions
from gitnexus.projects.place import Health, project_health
from gitnexus.projects.register import removal_files
from gitnexus.projects.sign_permissions import transact_keeping_signature
from gitnexus.projects.store import read_registry
from gitnexus.state import Change, Snapshot, State

MISSING = "its folder is gone"


@dataclass(frozen=True, slots=True)
class GoneProject:
    """A project to remove, and the reason."""

    project: Project
    why: str


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What was or would be removed: rows, the number of their permissions, and the number of remaining rows."""

    gone: tuple[GoneProject, ...]
    permissions: int
    kept: int


def prune_projects(
    home: State, now: datetime, *, older_than: int | None, dry_run: bool, here: str | None
) -> PruneResult:
    """Remove missing projects and, if `older_than` is given, those that were not used for that many days.

    `here` is the hash of the current project, which is never removed. Raises: Invalid, and nothing changes.
    """
    # Looked at before the lock is held, for that starts git. What changes meanwhile stays.
    candidates = [(row, project_health(row)[0]) for row in read_registry(home.latest()).projects_by_name()]
    judgements = [
        found for row, how in candidates if (found := judge_project(row, how, now, older_than, here)) is not None
    ]

    def decide(snapshot: Snapshot) -> Change[PruneResult]:
        rows = read_registry(snapshot).projects
        gone = tuple(one for one in judgements if rows.get(one.project.hash) == one.project and not _is_back(one))
        doomed = [one.project for one in gone]
        told = PruneResult(
            gone, _count_grants_naming(read_written_permissions(snapshot), doomed), len(rows) - len(gone)
        )
        if dry_run or not gone:
            return Change({}, "", told)
        return Change(
            removal_files(snapshot, doomed, now), f"projects: prune {', '.join(p.name for p in doomed[:5])}", told
        )

    return transact_keeping_signature(home, decide)


def judge_project(
    row: Project, how: Health, now: datetime, older_than: int | None, here: str | None
) -> GoneProject | None:
    """Return why a project is removed, None if it stays. An unreadable project stays."""
    match how:
        case "missing":
            return GoneProject(row, MISSING)
        case "not a project":
            return GoneProject(row, "it is no longer a project")
    last = parse_timestamp(row.last_access)
    if older_than is not None and last is not None and row.hash != here and now - last > timedelta(days=older_than):
        return GoneProject(row, f"last used {last:%Y-%m-%d}")
    return None


def _is_back(gone: GoneProject) -> bool:
    return gone.why == MISSING and os.path.lexists(gone.project.path)


def _count_grants_naming(permissions: Permissions, doomed: list[Project]) -> int:
    hashes = {row.hash for row in doomed}
    return sum(bool(hashes & {row.from_, row.to}) for row in permissions.project_relationships)
