"""Changes the name and aliases of a project; earlier names still resolve to it."""

from collections.abc import Callable
from datetime import datetime

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.projects.model import Project, Registry, require_name
from gitnexus.projects.register import refuse_taken
from gitnexus.projects.resolve import require_row
from gitnexus.projects.store import read_registry, registry_file
from gitnexus.state import Change, Snapshot, State


def rename_project(home: State, project: Project, name: str, now: datetime) -> Project:
    """Rename a project and keep the old name as an alias. Raises: Invalid, Conflict."""
    return _change_project(
        home, project, now, f"rename {project.name} to {name}", lambda registry, row: with_new_name(registry, row, name)
    )


def add_aliases(home: State, project: Project, aliases: tuple[str, ...], now: datetime) -> Project:
    """Add aliases to a project. Raises: Invalid, Conflict."""
    return _change_project(
        home,
        project,
        now,
        f"{project.name} is also {', '.join(aliases)}",
        lambda registry, row: with_aliases(registry, row, aliases),
    )


def remove_aliases(home: State, project: Project, aliases: tuple[str, ...], now: datetime) -> Project:
    """Remove aliases of a project. Raises: NotFound, Invalid, Conflict."""
    return _change_project(
        home,
        project,
        now,
        f"{project.name} is no longer {', '.join(aliases)}",
        lambda _registry, row: without_aliases(row, aliases),
    )


def with_new_name(registry: Registry, row: Project, name: str) -> Project:
    """Return the row with a new name. Raises: Invalid if it is taken or cannot be referenced."""
    if require_name(name) == row.name:
        return row
    refuse_taken(registry.without(row.hash), name)
    words = dict.fromkeys((*row.aliases, row.name))
    words.pop(name, None)
    return row.changed(name=name, aliases=tuple(words))


def with_aliases(registry: Registry, row: Project, aliases: tuple[str, ...]) -> Project:
    """Return the row with more names. Raises: Invalid."""
    for alias in aliases:
        if require_name(alias, "alias") == row.name:
            raise Invalid(f"{alias} is the name of the project already")
        refuse_taken(registry.without(row.hash), alias)
    return row.changed(aliases=tuple(dict.fromkeys((*row.aliases, *aliases))))


def without_aliases(row: Project, aliases: tuple[str, ...]) -> Project:
    """Return the row without some names. Raises: NotFound, Invalid."""
    for alias in aliases:
        if alias == row.name:
            raise Invalid(f"{alias} is the name of the project, not an alias", hint="git nexus project rename")
        if alias not in row.aliases:
            raise NotFound(f"{row.name} has no alias {alias!r}", hint=f"it has: {', '.join(row.aliases) or 'none'}")
    return row.changed(aliases=tuple(word for word in row.aliases if word not in aliases))


def _change_project(
    home: State, project: Project, now: datetime, why: str, change: Callable[[Registry, Project], Project]
) -> Project:
    def decide(snapshot: Snapshot) -> Change[Project]:
        registry = read_registry(snapshot)
        row = change(registry, require_row(registry, project))
        return Change(registry_file(registry, registry.with_row(row), now), f"projects: {why}", row)

    return home.transact(decide)
