"""Updates the registry after a project moved to another path; names and permissions go with it."""

from datetime import datetime

from gitnexus.base.errors import Duplicate, Invalid
from gitnexus.projects import permissions
from gitnexus.projects.grants import permissions_file, read_written_permissions
from gitnexus.projects.model import Project, Registry
from gitnexus.projects.place import ProjectPlace, project_health
from gitnexus.projects.register import RegisteredProject, RegisterRequest, with_project
from gitnexus.projects.resolve import require_row
from gitnexus.projects.sign_permissions import transact_keeping_signature
from gitnexus.projects.store import read_registry, registry_file
from gitnexus.state import Change, Snapshot, State


def move_project(home: State, old: Project, project_place: ProjectPlace, now: datetime) -> RegisteredProject:
    """Register a known project at another path. Raises: Duplicate, Invalid, Conflict."""
    identity = project_place.read_project_id()
    if project_health(old)[0] == "ok" and old.path != project_place.path:
        raise Invalid(f"{old.name} is still at {old.path}", hint="register the other one under its own name instead")

    def decide(snapshot: Snapshot) -> Change[RegisteredProject]:
        registry = read_registry(snapshot)
        row = require_row(registry, old)
        _refuse_another(registry, row, project_place, identity)
        wanted = RegisterRequest(project_place.path, project_id=identity or row.id)
        after, project = with_project(registry, wanted, row, "", free_name=False)
        before = read_written_permissions(snapshot)
        files = registry_file(registry, after, now)
        files |= permissions_file(before, permissions.with_moved_project(before, row.hash, project.hash))
        return Change(files, f"projects: {project.name} moved to {project.path}", RegisteredProject(project, row))

    return transact_keeping_signature(home, decide)


def _refuse_another(registry: Registry, old: Project, project_place: ProjectPlace, identity: str | None) -> None:
    there = registry.at(project_place.path)
    if there is not None:
        raise Duplicate(
            f"{project_place.path} is registered already, as {there.name}",
            fix=f"git nexus project show {there.name}",
            context={"project": there.described()},
        )
    if identity and old.id and identity != old.id:
        raise Invalid(
            f"the project at {project_place.path} is another one than {old.name}",
            hint="register it under its own name: git nexus register",
        )
