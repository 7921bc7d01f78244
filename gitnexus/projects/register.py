"""Put a project into the registry, or take it out."""

import os
import shlex
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import stamp
from gitnexus.base.errors import Duplicate, HashCollision, Invalid, NotFound
from gitnexus.base.text import is_text
from gitnexus.projects import permissions
from gitnexus.projects.grants import permissions_file, written_permissions
from gitnexus.projects.model import Project, Registry, checked_name, default_name, hash_of, real
from gitnexus.projects.place import Place, at, nearest
from gitnexus.projects.sealing import sealed
from gitnexus.projects.store import read_registry, registry_file
from gitnexus.state import Change, Snapshot, State


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be registered: a real path, names, and the id by which it is known again elsewhere."""

    path: str
    name: str | None = None
    aliases: tuple[str, ...] = ()
    project_id: str | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """A row, and the row of the same project at the place that it moved away from."""

    project: Project
    moved: Project | None = None


def register(home: State, wanted: Wanted, now: datetime) -> Registered:
    """Register a project, or bring its row up to date. Raises: Invalid, HashCollision."""
    return sealed(home, lambda snapshot: registration(snapshot, wanted, now, again=True))


def add(home: State, wanted: Wanted, now: datetime) -> Registered:
    """Register a project that is not there yet. Raises: Duplicate, Invalid, HashCollision."""
    return sealed(home, lambda snapshot: registration(snapshot, wanted, now, again=False))


def registration(snapshot: Snapshot, wanted: Wanted, now: datetime, *, again: bool) -> Change[Registered]:
    """Return what registering would write. A project that moved keeps its names and its permissions."""
    registry = read_registry(snapshot)
    there = registry.at(wanted.path)
    if there is not None and not again:
        raise Duplicate(
            f"{wanted.path} is registered already, as {there.name}",
            hint=f"another name: git nexus project rename {there.name} NEW",
            fix=f"git nexus project show {there.name}",
            context={"project": there.described()},
        )
    moved = _moved(registry, wanted) if there is None else None
    after, project = registered(registry, wanted, there or moved, stamp(now), free_name=again)
    files = registry_file(registry, after, now)
    if moved is not None:
        before = written_permissions(snapshot)
        files |= permissions_file(before, permissions.moved(before, moved.hash, project.hash))
    return Change(files, f"projects: register {project.name}", Registered(project, moved))


def registered(
    registry: Registry, wanted: Wanted, before: Project | None, moment: str, *, free_name: bool
) -> tuple[Registry, Project]:
    """Return the registry with the project, whose row was `before`. Raises: Invalid for a name that is taken.

    `free_name` finds another where the folder's name is taken and none was asked for.
    """
    rest = registry.without(before.hash) if before else registry
    taken = rest.projects.get(hash_of(wanted.path))
    if taken is not None and taken.path != wanted.path:
        raise HashCollision(
            f"{wanted.path} and {taken.path} have the same hash, {taken.hash}",
            hint="move one of the two folders",
            fix=f"git nexus project show {taken.hash}",
            context={"hash": taken.hash, "paths": [taken.path, wanted.path]},
        )
    name = _name(rest, wanted, before, free_name=free_name)
    words = dict.fromkeys(before.aliases if before else ())
    if before is not None and before.name != name:
        words[before.name] = None  # what was referred to by the old name still is
    words |= dict.fromkeys(checked_name(alias, "alias") for alias in wanted.aliases)
    words.pop(name, None)
    for word in (name, *words):
        refuse_taken(rest, word, _free_command(rest, wanted) if word == name and not free_name else None)
    fresh = Project(
        hash=hash_of(wanted.path), path=wanted.path, name=name, aliases=tuple(words), id=wanted.project_id,
        last_access=before.last_access if before else moment, unknown=before.unknown if before else {},
    )  # fmt: skip
    return rest.with_row(fresh), fresh


def unregister(home: State, path: str, now: datetime) -> Project | None:
    """Take the project at a real path out, with every permission that names it; None if it was not there."""

    def decide(snapshot: Snapshot) -> Change[Project | None]:
        registry = read_registry(snapshot)
        gone = registry.at(path)
        if gone is None:
            return Change({}, "", None)
        return Change(removal(snapshot, [gone], now), f"projects: unregister {gone.name}", gone)

    return sealed(home, decide)


def removal(snapshot: Snapshot, gone: list[Project], now: datetime) -> dict[str, bytes | None]:
    """Return what to write so that rows go, and with them every permission that names one. Raises: Invalid."""
    registry = after = read_registry(snapshot)
    for row in gone:
        after = after.without(row.hash)
    before = written_permissions(snapshot)
    left = permissions.without(before, frozenset(row.hash for row in gone))
    return registry_file(registry, after, now) | permissions_file(before, left)


def project_to_register(folder: Path) -> Place:
    """Return the project whose top is `folder`. Raises: NotFound, Invalid."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint="name the folder of a project")
    place = at(folder)
    if place is None:
        above = nearest(folder)
        if above is not None:
            fix, hint = f"git nexus register {shlex.quote(above.path)}", f"it lies in the project {above.path}"
        else:
            fix, hint = f"git -C {shlex.quote(str(folder))} nexus init", "make it one with: git nexus init"
        raise NotFound(f"{folder} is not a project", hint=hint, fix=fix)
    if not is_text(place.path):
        raise Invalid(f"{folder} cannot be registered: its path is not UTF-8", hint="give the folder another name")
    return place


def refuse_taken(registry: Registry, word: str, fix: str | None = None) -> None:
    """Refuse a name or alias that another project has. Raises: Invalid."""
    taken = registry.owner(word)
    if taken is not None:
        raise Invalid(
            f"the name {word} belongs to the project at {taken.path}",
            hint="choose another name",
            fix=fix,
            context={"name": word, "path": taken.path},
        )


def is_temporary(place: Path) -> bool:
    """True for a folder that will be gone tomorrow: never registered by itself."""
    import tempfile  # only init asks

    roots = {os.path.realpath(root) for root in (tempfile.gettempdir(), "/tmp", "/var/tmp")}  # noqa: S108
    return any(real(place).startswith(root + os.sep) for root in roots)


def _moved(registry: Registry, wanted: Wanted) -> Project | None:
    """Return the row of this project at a place where it no longer is."""
    for row in registry.projects.values():
        if wanted.project_id and row.id == wanted.project_id and not Path(row.path).exists():
            return row
    return None


def _name(registry: Registry, wanted: Wanted, before: Project | None, *, free_name: bool) -> str:
    if wanted.name is not None:
        return checked_name(wanted.name)
    if before is not None:
        return before.name
    name = default_name(Path(wanted.path))
    return _free(registry, name) if free_name else name


def _free_command(registry: Registry, wanted: Wanted) -> str:
    name = _free(registry, wanted.name or default_name(Path(wanted.path)))
    return f"git nexus register {shlex.quote(wanted.path)} --name {name}"


def _free(registry: Registry, wanted: str) -> str:
    name, number = wanted, 1
    while registry.owner(name) is not None:
        number += 1
        name = f"{wanted[:60]}-{number}"
    return name
