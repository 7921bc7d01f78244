"""Adds a project to the registry, updates its row, or removes it."""

import os
import shlex
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Duplicate, HashCollision, Invalid, NotFound
from gitnexus.base.text import is_utf8_name
from gitnexus.projects import permissions
from gitnexus.projects.grants import permissions_file, read_written_permissions
from gitnexus.projects.model import Project, Registry, default_name, hash_of, real_path, require_name, usable_name
from gitnexus.projects.place import ProjectPlace, nearest_project, project_at
from gitnexus.projects.resolve import HASH_PREFIX
from gitnexus.projects.sign_permissions import transact_keeping_signature
from gitnexus.projects.store import read_registry, registry_file
from gitnexus.state import Change, Snapshot, State


@dataclass(frozen=True, slots=True)
class RegisterRequest:
    """What to register: a real path, names, and the id that identifies it elsewhere."""

    path: str
    name: str | None = None
    aliases: tuple[str, ...] = ()
    project_id: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredProject:
    """A row, and the row at the path from which the project moved."""

    project: Project
    moved: Project | None = None


def register_project(home: State, request: RegisterRequest, now: datetime) -> RegisteredProject:
    """Register a project, or update its row. Raises: Invalid, HashCollision."""
    return transact_keeping_signature(home, lambda snapshot: registration_change(snapshot, request, now, again=True))


def add_project(home: State, request: RegisterRequest, now: datetime) -> RegisteredProject:
    """Register a project that is not registered yet. Raises: Duplicate, Invalid, HashCollision."""
    return transact_keeping_signature(home, lambda snapshot: registration_change(snapshot, request, now, again=False))


def registration_change(
    snapshot: Snapshot, request: RegisterRequest, now: datetime, *, again: bool
) -> Change[RegisteredProject]:
    """Return the files that a registration would write. A moved project keeps its names and permissions."""
    registry = read_registry(snapshot)
    there = registry.at(request.path)
    if there is not None and not again:
        raise Duplicate(
            f"{request.path} is registered already, as {there.name}",
            hint=f"another name: git nexus project rename {there.name} NEW",
            fix=f"git nexus project show {there.name}",
            context={"project": there.described()},
        )
    moved = _find_moved_row(registry, request) if there is None else None
    after, project = with_project(registry, request, there or moved, format_timestamp(now), free_name=again)
    files = registry_file(registry, after, now)
    if moved is not None:
        before = read_written_permissions(snapshot)
        files |= permissions_file(before, permissions.with_moved_project(before, moved.hash, project.hash))
    return Change(files, f"projects: register {project.name}", RegisteredProject(project, moved))


def with_project(
    registry: Registry, request: RegisterRequest, before: Project | None, moment: str, *, free_name: bool
) -> tuple[Registry, Project]:
    """Return the registry with the project, whose row was `before`. Raises: Invalid for a name in use.

    `free_name` chooses another name if the folder's name is in use and the caller gave none.
    """
    rest = registry.without(before.hash) if before else registry
    taken = rest.projects.get(hash_of(request.path))
    if taken is not None and taken.path != request.path:
        raise HashCollision(
            f"{request.path} and {taken.path} have the same hash, {taken.hash}",
            hint="move one of the two folders",
            fix=f"git nexus project show {taken.hash}",
            context={"hash": taken.hash, "paths": [taken.path, request.path]},
        )
    name = _choose_name(rest, request, before, free_name=free_name)
    words = dict.fromkeys(before.aliases if before else ())
    if before is not None and before.name != name:
        words[before.name] = None  # what was referred to by the old name still is
    words |= dict.fromkeys(require_name(alias, "alias") for alias in request.aliases)
    words.pop(name, None)
    for word in (name, *words):
        refuse_taken(rest, word, _free_command(rest, request) if word == name and not free_name else None)
    fresh = Project(
        hash=hash_of(request.path),
        path=request.path,
        name=name,
        aliases=tuple(words),
        id=request.project_id,
        last_access=before.last_access if before else moment,
        unknown=before.unknown if before else {},
    )
    return rest.with_row(fresh), fresh


def unregister_project(home: State, path: str, now: datetime) -> Project | None:
    """Remove the project at a real path and every permission that names it; return None if it was not registered."""

    def decide(snapshot: Snapshot) -> Change[Project | None]:
        registry = read_registry(snapshot)
        gone = registry.at(path)
        if gone is None:
            return Change({}, "", None)
        return Change(removal_files(snapshot, [gone], now), f"projects: unregister {gone.name}", gone)

    return transact_keeping_signature(home, decide)


def removal_files(snapshot: Snapshot, gone: list[Project], now: datetime) -> dict[str, bytes | None]:
    """Return the files to write to remove rows and every permission that names them. Raises: Invalid."""
    registry = after = read_registry(snapshot)
    for row in gone:
        after = after.without(row.hash)
    before = read_written_permissions(snapshot)
    left = permissions.without_projects(before, frozenset(row.hash for row in gone))
    return registry_file(registry, after, now) | permissions_file(before, left)


def project_to_register(folder: Path) -> ProjectPlace:
    """Return the project whose top is `folder`. Raises: NotFound, Invalid."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint="name the folder of a project")
    place = project_at(folder)
    if place is None:
        above = nearest_project(folder)
        if above is not None:
            fix, hint = f"git nexus register {shlex.quote(above.path)}", f"it is inside the project {above.path}"
        else:
            fix, hint = f"git -C {shlex.quote(str(folder))} nexus init", "make it one with: git nexus init"
        raise NotFound(f"{folder} is not a project", hint=hint, fix=fix)
    if not is_utf8_name(place.path):
        raise Invalid(f"{folder} cannot be registered: its path is not UTF-8", hint="give the folder another name")
    return place


def refuse_taken(registry: Registry, word: str, fix: str | None = None) -> None:
    """Refuse a name or alias that another project has. Raises: Invalid."""
    taken = registry.owner(word)
    same_hash = _find_by_hash_prefix(registry, word) if taken is None else None
    if same_hash is not None:
        raise Invalid(
            f"{word} is how the project {same_hash.name} is found by its hash, {same_hash.hash}",
            hint=f"choose another name, for instance {_free_name(registry, f'p-{word}')}",
            fix=fix,
            context={"name": word, "path": same_hash.path, "proposal": _free_name(registry, f"p-{word}")},
        )
    if taken is not None:
        raise Invalid(
            f"the name {word} belongs to the project at {taken.path}",
            hint="choose another name",
            fix=fix,
            context={"name": word, "path": taken.path},
        )


def is_temporary(folder: Path) -> bool:
    """True for a temporary folder, which is never registered automatically."""
    roots = {os.path.realpath(root) for root in (tempfile.gettempdir(), "/tmp", "/var/tmp")}  # noqa: S108
    return any(real_path(folder).startswith(root + os.sep) for root in roots)


def _find_moved_row(registry: Registry, request: RegisterRequest) -> Project | None:
    """Return the row of this project under a path where it no longer is."""
    for row in registry.projects.values():
        if request.project_id and row.id == request.project_id and not Path(row.path).exists():
            return row
    return None


def _choose_name(registry: Registry, request: RegisterRequest, before: Project | None, *, free_name: bool) -> str:
    if request.name is not None:
        return require_name(request.name)
    if before is not None:
        return before.name
    name = default_name(Path(request.path))
    if name.startswith("-"):
        proposal = _free_name(registry, usable_name(Path(request.path).name))
        if free_name:
            return proposal
        raise Invalid(
            f"the folder's name would be {name}, which cannot be typed as a project's name",
            hint=f"choose one: --name {proposal}",
            fix=f"git nexus register {shlex.quote(request.path)} --name {proposal}",
            context={"name": name, "proposal": proposal},
        )
    return _free_name(registry, name) if free_name else name


def _free_command(registry: Registry, request: RegisterRequest) -> str:
    name = _free_name(registry, request.name or usable_name(Path(request.path).name))
    return f"git nexus register {shlex.quote(request.path)} --name {name}"


def _find_by_hash_prefix(registry: Registry, word: str) -> Project | None:
    """Return a project whose hash begins with this word: a name equal to the word would hide that project."""
    if not HASH_PREFIX.fullmatch(word):
        return None
    return next((row for row in registry.projects.values() if row.hash.startswith(word)), None)


def _free_name(registry: Registry, wanted: str) -> str:
    name, number = wanted, 1
    while registry.owner(name) is not None or _find_by_hash_prefix(registry, name) is not None:
        number += 1
        name = f"{wanted[:60]}-{number}"
    return name
