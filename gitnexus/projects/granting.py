"""Grant, revoke, set the default: each is signed by the person who says so."""

from dataclasses import dataclass

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.projects.grants import permissions_file, written_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.permissions import Grant, granted, held, revoked
from gitnexus.projects.sealing import signed
from gitnexus.state import Change, Snapshot, State

_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Changed:
    """What one project holds on another now, and what it held before."""

    caller: Project
    target: Project
    before: Level
    after: Level
    reason: str = ""


def grant(home: State, caller: Project, target: Project, level: Level, reason: str) -> Changed:
    """Let `caller` do to `target` what `level` allows, and nothing above it. Raises: Invalid."""
    _refuse_the_same(caller, target)
    if len(reason) > _LONGEST_REASON:
        raise Invalid(f"the reason is longer than {_LONGEST_REASON} characters", hint="say it shorter")

    def decide(snapshot: Snapshot) -> Change[Changed]:
        before = written_permissions(snapshot)
        after = granted(before, Grant(from_=caller.hash, to=target.hash, permission=level, reason=reason))
        told = Changed(caller, target, held(before, caller.hash, target.hash), level, reason)
        why = f"permissions: {caller.name} may {_words(level)} {target.name}" + (
            f" ({one_line(reason, 100)})" if reason else ""
        )
        return Change(permissions_file(before, after), why, told)

    return signed(home, decide)


def revoke(home: State, caller: Project, target: Project) -> Changed:
    """Go back to the default between the two. Raises: Invalid."""
    _refuse_the_same(caller, target)

    def decide(snapshot: Snapshot) -> Change[Changed]:
        before = written_permissions(snapshot)
        after = revoked(before, caller.hash, target.hash)
        held_before, held_after = (held(one, caller.hash, target.hash) for one in (before, after))
        why = f"permissions: {caller.name} holds the default on {target.name} again"
        return Change(permissions_file(before, after), why, Changed(caller, target, held_before, held_after))

    return signed(home, decide)


def set_default(home: State, level: Level) -> Level:
    """Set what holds between two projects for which nothing was granted; return what held before. Raises: Invalid."""

    def decide(snapshot: Snapshot) -> Change[Level]:
        before = written_permissions(snapshot)
        after = before.changed(default_permission=level)
        return Change(permissions_file(before, after), f"permissions: the default is {level.value}",
                      before.default_permission)  # fmt: skip

    return signed(home, decide)


def _refuse_the_same(caller: Project, target: Project) -> None:
    if caller.hash == target.hash:
        raise Invalid(
            f"{caller.name} and {target.name} are the same project, which may do everything to itself",
            hint="name two projects",
        )


def _words(level: Level) -> str:
    return "not even read" if level is Level.NONE else level.value
