"""Put a project into the registry, or take it out."""

import os
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import stamp
from gitnexus.base.errors import Invalid
from gitnexus.projects.model import Project, Registry, checked_name, default_name, hash_of, real
from gitnexus.projects.store import REGISTRY, read_registry
from gitnexus.state import Change, Snapshot, State


def register(
    home: State, place: Path, *, name: str | None, aliases: tuple[str, ...], project_id: str | None, now: datetime
) -> Project:
    """Register the project at `place`, or bring its row up to date. Raises: Invalid."""

    def decide(snapshot: Snapshot) -> Change[Project]:
        registry = read_registry(snapshot)
        after, project = registered(registry, real(place), name, aliases, project_id)
        if after == registry:
            return Change({}, "", project)
        stamped = after.changed(last_updated=stamp(now))
        return Change({REGISTRY: stamped.to_bytes()}, f"projects: register {project.name}", project)

    return home.transact(decide)


def unregister(home: State, place: Path, now: datetime) -> Project | None:
    """Take the project at `place` out of the registry; None if it was not there."""

    def decide(snapshot: Snapshot) -> Change[Project | None]:
        registry = read_registry(snapshot)
        gone = registry.at(real(place))
        if gone is None:
            return Change({}, "", None)
        rest = {key: row for key, row in registry.projects.items() if key != gone.hash}
        after = registry.changed(projects=rest, last_updated=stamp(now))
        return Change({REGISTRY: after.to_bytes()}, f"projects: unregister {gone.name}", gone)

    return home.transact(decide)


def registered(
    registry: Registry, path: str, name: str | None, aliases: tuple[str, ...], project_id: str | None
) -> tuple[Registry, Project]:
    """Return the registry with the project at `path`. Raises: Invalid for a name that is taken or cannot be used."""
    before = registry.at(path) or _moved(registry, project_id)
    others = {key: row for key, row in registry.projects.items() if before is None or key != before.hash}
    rest = registry.changed(projects=others)
    wanted = checked_name(name) if name else before.name if before else _free_name(rest, default_name(Path(path)))
    words = dict.fromkeys(before.aliases if before else ())
    if before is not None and before.name != wanted:
        words[before.name] = None  # what was referred to by the old name still is
    words |= dict.fromkeys(checked_name(alias, "alias") for alias in aliases)
    words.pop(wanted, None)
    for word in (wanted, *words):
        taken = rest.owner(word)
        if taken is not None:
            raise Invalid(
                f"the name {word} belongs to the project at {taken.path}",
                hint="choose another with --name or --alias",
                context={"name": word, "path": taken.path},
            )
    fresh = Project(hash=hash_of(path), path=path, name=wanted, aliases=tuple(words), id=project_id)
    project = fresh.changed(last_access=before.last_access, unknown=before.unknown) if before else fresh
    return registry.changed(projects={**others, project.hash: project}), project


def is_temporary(place: Path) -> bool:
    """True for a folder that will be gone tomorrow: never registered by itself."""
    import tempfile  # only init asks

    roots = {os.path.realpath(root) for root in (tempfile.gettempdir(), "/tmp", "/var/tmp")}  # noqa: S108
    return any(real(place).startswith(root + os.sep) for root in roots)


def _moved(registry: Registry, project_id: str | None) -> Project | None:
    """Return the row of this project at a place where it no longer is."""
    for row in registry.projects.values():
        if project_id and row.id == project_id and not Path(row.path).exists():
            return row
    return None


def _free_name(registry: Registry, wanted: str) -> str:
    name, number = wanted, 1
    while registry.owner(name) is not None:
        number += 1
        name = f"{wanted[:60]}-{number}"
    return name
