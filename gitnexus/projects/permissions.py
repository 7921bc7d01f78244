"""Permissions between projects: which level each project has on another, and changes of them. Pure."""

import re

from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord
from gitnexus.projects.levels import Level, lower_level

_HASH = re.compile(r"[0-9a-f]{12}")


class ProjectGrant(StoredRecord):
    """One entry: the level of the project `from` on the project `to`."""

    from_: str
    to: str
    permission: Level
    reason: str = ""


class Permissions(StoredRecord):
    """The whole permissions file."""

    version: str = "1.0.0"
    default_permission: Level = Level.READ
    project_relationships: tuple[ProjectGrant, ...] = ()


def check_permissions(permissions: Permissions, where: str) -> Permissions:
    """Return the permissions if each pair has one entry at most. Raises: Invalid.

    An entry without a hash would never match, so a `none` written that way would have no effect.
    """
    for at, grant in enumerate(permissions.project_relationships):
        if not (_HASH.fullmatch(grant.from_) and _HASH.fullmatch(grant.to)):
            raise Invalid(f"{where}: projectRelationships[{at}] should name two projects by their hash")
    return permissions


def level_held(permissions: Permissions, caller: str | None, target: str) -> Level:
    """Return the level of the project `caller` on `target`, both by hash; None is a caller outside of all projects."""
    if caller == target:
        return Level.EXECUTE
    if caller is None:
        return lower_level(permissions.default_permission, Level.READ)
    found = permissions.default_permission
    for grant in permissions.project_relationships:  # the last entry for a pair wins
        if (grant.from_, grant.to) == (caller, target):
            found = grant.permission
    return found


def tighten_permissions(permissions: Permissions) -> Permissions:
    """Return the part of unsigned permissions that applies: they may take levels away, and give `read` at most."""
    rows = tuple(
        row if Level.READ.covers(row.permission) else row.changed(permission=Level.READ)
        for row in permissions.project_relationships
    )
    return permissions.changed(
        default_permission=lower_level(permissions.default_permission, Level.READ), project_relationships=rows
    )


def with_grant(permissions: Permissions, grant: ProjectGrant) -> Permissions:
    """Return the permissions with this entry as the only one for its pair."""
    pair = (grant.from_, grant.to)
    if [row for row in permissions.project_relationships if (row.from_, row.to) == pair] == [grant]:
        return permissions
    rest = without_grant(permissions, *pair).project_relationships
    return permissions.changed(project_relationships=(*rest, grant))


def without_grant(permissions: Permissions, caller: str, target: str) -> Permissions:
    """Return the permissions without an entry for the pair, so that the default applies again."""
    rest = tuple(row for row in permissions.project_relationships if (row.from_, row.to) != (caller, target))
    return permissions.changed(project_relationships=rest)


def without_projects(permissions: Permissions, gone: frozenset[str]) -> Permissions:
    """Return the permissions without any entry that names a removed project."""
    rest = tuple(row for row in permissions.project_relationships if not gone & {row.from_, row.to})
    return permissions.changed(project_relationships=rest)


def with_moved_project(permissions: Permissions, old: str, new: str) -> Permissions:
    """Return the permissions with a project under its new hash; older entries for the new hash are dropped."""
    if old == new:
        return permissions
    names = {old: new}
    rest = without_projects(permissions, frozenset({new})).project_relationships
    rows = tuple(row.changed(from_=names.get(row.from_, row.from_), to=names.get(row.to, row.to)) for row in rest)
    return permissions.changed(project_relationships=rows)
