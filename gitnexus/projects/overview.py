"""Lists registered projects with their health and the permissions of the current project on them."""

from typing import Literal

from gitnexus.base.record import Record
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.operations import Operation
from gitnexus.projects.place import Health, project_health
from gitnexus.projects.standpoint import Standpoint


class ProjectOverview(Record):
    """A row of the registry with its health and the permission that the current project holds on it."""

    hash: str
    name: str
    path: str
    aliases: tuple[str, ...]
    last_access: str | None
    kind: Literal["git", "cleo"] | None
    health: Health
    permission: Level
    current: bool
    registered: bool = True


def list_project_views(standpoint: Standpoint) -> list[ProjectOverview]:
    """Return every registered project; a person may list all of them. Raises: Invalid."""
    return [project_view(standpoint, row) for row in standpoint.registry.projects_by_name()]


def list_readable_views(standpoint: Standpoint) -> list[ProjectOverview]:
    """Return the projects that the current one may read, which is what an agent gets. Raises: Invalid."""
    return [project_view(standpoint, row) for row in standpoint.readable()]


def show_project(standpoint: Standpoint, word: str) -> ProjectOverview:
    """Return one project. Raises: ProjectNotFound, AmbiguousName, PermissionDenied."""
    project = standpoint.find(word)
    standpoint.require_permission(Operation.PROJECT_SHOW, project)
    return project_view(standpoint, standpoint.registry.projects.get(project.hash, project))


def project_view(standpoint: Standpoint, row: Project) -> ProjectOverview:
    """Return a row of the registry with the project's health and permission level."""
    how, place = project_health(row)
    return ProjectOverview(
        hash=row.hash,
        name=row.name,
        path=row.path,
        aliases=row.aliases,
        last_access=row.last_access,
        kind=place.kind if place else None,
        health=how,
        permission=standpoint.level(row),
        current=standpoint.here is not None and standpoint.here.path == row.path,
        registered=standpoint.is_registered(row),
    )
