"""Permissions between projects: who holds what on whom, and how that changes. Pure."""

import re

from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord
from gitnexus.projects.levels import Level, lower_level

_HASH = re.compile(r"[0-9a-f]{12}")


class ProjectGrant(StoredRecord):
    """One entry: what the project `from` may do to the project `to`."""

    from_: str
    to: str
    permission: Level
    reason: str = ""


class Permissions(StoredRecord):
    """The whole file."""

    version: str = "1.0.0"
    default_permission: Level = Level.READ
    project_relationships: tuple[ProjectGrant, ...] = ()


def check_permissions(permissions: Permissions, where: str) -> Permissions:
    """Return permissions whose entries can be told apart. Raises: Invalid.

    An entry that names no hash would never count, so a `none` written that way would silently be none at all.
    """
    for at, grant in enumerate(permissions.project_relationships):
        if not (_HASH.fullmatch(grant.from_) and _HASH.fullmatch(grant.to)):
            raise Invalid(f"{where}: projectRelationships[{at}] should name two projects by their hash")
    return permissions


def level_held(permissions: Permissions, caller: str | None, target: str) -> Level:
    """Return what the project `caller` holds on `target`, both by hash; None is a caller in no registered project."""
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
    """Return what counts of permissions that nobody signed: they may take away, and give no more than reading."""
    rows = tuple(
        row if Level.READ.covers(row.permission) else row.changed(permission=Level.READ)
        for row in permissions.project_relationships
    )
    return permissions.changed(
        default_permission=lower_level(permissions.default_permission, Level.READ), project_relationships=rows
    )


def with_grant(permissions: Permissions, grant: ProjectGrant) -> Permissions:
    """Return the permissions with one entry for the pair: this one."""
    pair = (grant.from_, grant.to)
    if [row for row in permissions.project_relationships if (row.from_, row.to) == pair] == [grant]:
        return permissions
    rest = without_grant(permissions, *pair).project_relationships
    return permissions.changed(project_relationships=(*rest, grant))


def without_grant(permissions: Permissions, caller: str, target: str) -> Permissions:
    """Return the permissions without any entry for the pair: the default counts again."""
    rest = tuple(row for row in permissions.project_relationships if (row.from_, row.to) != (caller, target))
    return permissions.changed(project_relationships=rest)


def without_projects(permissions: Permissions, gone: frozenset[str]) -> Permissions:
    """Return the permissions without any entry that names a project that goes."""
    rest = tuple(row for row in permissions.project_relationships if not gone & {row.from_, row.to})
    return permissions.changed(project_relationships=rest)


def with_moved_project(permissions: Permissions, old: str, new: str) -> Permissions:
    """Return the permissions with a project known by its new hash; whatever named the new hash before is gone."""
    if old == new:
        return permissions
    names = {old: new}
    rest = without_projects(permissions, frozenset({new})).project_relationships
    rows = tuple(row.changed(from_=names.get(row.from_, row.from_), to=names.get(row.to, row.to)) for row in rest)
    return permissions.changed(project_relationships=rows)
