"""Tell the registry that a project lies elsewhere now; names and permissions go with it."""

from datetime import datetime

from gitnexus.base.errors import Duplicate, Invalid
from gitnexus.projects import permissions
from gitnexus.projects.grants import permissions_file, written_permissions
from gitnexus.projects.model import Project, Registry
from gitnexus.projects.place import Place, health
from gitnexus.projects.register import Registered, Wanted, registered
from gitnexus.projects.resolve import still_there
from gitnexus.projects.sealing import sealed
from gitnexus.projects.store import read_registry, registry_file
from gitnexus.state import Change, Snapshot, State


def move(home: State, old: Project, place: Place, now: datetime) -> Registered:
    """Register a known project at another place. Raises: Duplicate, Invalid, Conflict."""
    identity = place.identity()
    if health(old)[0] == "ok" and old.path != place.path:
        raise Invalid(
            f"{old.name} is still at {old.path}", hint="register the other one under a name of its own instead"
        )

    def decide(snapshot: Snapshot) -> Change[Registered]:
        registry = read_registry(snapshot)
        row = still_there(registry, old)
        _refuse_another(registry, row, place, identity)
        wanted = Wanted(place.path, project_id=identity or row.id)
        after, project = registered(registry, wanted, row, "", free_name=False)
        before = written_permissions(snapshot)
        files = registry_file(registry, after, now)
        files |= permissions_file(before, permissions.moved(before, row.hash, project.hash))
        return Change(files, f"projects: {project.name} moved to {project.path}", Registered(project, row))

    return sealed(home, decide)


def _refuse_another(registry: Registry, old: Project, place: Place, identity: str | None) -> None:
    there = registry.at(place.path)
    if there is not None:
        raise Duplicate(
            f"{place.path} is registered already, as {there.name}",
            fix=f"git nexus project show {there.name}",
            context={"project": there.described()},
        )
    if identity and old.id and identity != old.id:
        raise Invalid(
            f"the project at {place.path} is another one than {old.name}",
            hint="register it under a name of its own: git nexus register",
        )
