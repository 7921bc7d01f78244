"""Grants and revokes permissions between projects and sets the default; each change is signed."""

from dataclasses import dataclass

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.projects.grants import permissions_file, read_written_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.permissions import ProjectGrant, level_held, with_grant, without_grant
from gitnexus.projects.sign_permissions import transact_with_signature
from gitnexus.state import Change, Snapshot, State

_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class PermissionChange:
    """The level that one project now holds on another, and the previous one."""

    caller: Project
    target: Project
    before: Level
    after: Level
    reason: str = ""


def grant_permission(home: State, caller: Project, target: Project, level: Level, reason: str) -> PermissionChange:
    """Give `caller` the permission `level` on `target`. Raises: Invalid."""
    _refuse_the_same(caller, target)
    if len(reason) > _LONGEST_REASON:
        raise Invalid(f"the reason is longer than {_LONGEST_REASON} characters", hint="shorten it")

    def decide(snapshot: Snapshot) -> Change[PermissionChange]:
        before = read_written_permissions(snapshot)
        after = with_grant(before, ProjectGrant(from_=caller.hash, to=target.hash, permission=level, reason=reason))
        told = PermissionChange(caller, target, level_held(before, caller.hash, target.hash), level, reason)
        why = f"permissions: {caller.name} may {_describe_level(level)} {target.name}" + (
            f" ({one_line(reason, 100)})" if reason else ""
        )
        return Change(permissions_file(before, after), why, told)

    return transact_with_signature(home, decide)


def revoke_permission(home: State, caller: Project, target: Project) -> PermissionChange:
    """Reset the permission between the two to the default. Raises: Invalid."""
    _refuse_the_same(caller, target)

    def decide(snapshot: Snapshot) -> Change[PermissionChange]:
        before = read_written_permissions(snapshot)
        after = without_grant(before, caller.hash, target.hash)
        held_before, held_after = (level_held(one, caller.hash, target.hash) for one in (before, after))
        why = f"permissions: {caller.name} has the default on {target.name} again"
        return Change(permissions_file(before, after), why, PermissionChange(caller, target, held_before, held_after))

    return transact_with_signature(home, decide)


def set_default_level(home: State, level: Level) -> Level:
    """Set the default level between projects; return the previous one. Raises: Invalid."""

    def decide(snapshot: Snapshot) -> Change[Level]:
        before = read_written_permissions(snapshot)
        after = before.changed(default_permission=level)
        return Change(
            permissions_file(before, after), f"permissions: the default is {level.value}", before.default_permission
        )

    return transact_with_signature(home, decide)


def _refuse_the_same(caller: Project, target: Project) -> None:
    if caller.hash == target.hash:
        raise Invalid(
            f"{caller.name} and {target.name} are the same project, which may do everything to itself",
            hint="name two projects",
        )


def _describe_level(level: Level) -> str:
    return "not even read" if level is Level.NONE else level.value
