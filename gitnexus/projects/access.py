"""The one door between projects: is it permitted, is it written down, and only then it happens."""

import shlex
from dataclasses import dataclass
from datetime import datetime

from gitnexus.base.clock import stamp
from gitnexus.base.errors import Failed, Invalid, NexusError, PermissionDenied
from gitnexus.projects.audit import AuditLine, appended
from gitnexus.projects.grants import Trusts, nobody, read_permissions
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.operations import Operation
from gitnexus.projects.permissions import held
from gitnexus.state import Change, Snapshot, State


@dataclass(frozen=True, slots=True)
class Request:
    """What the current project (None: outside any) wants to do to another."""

    operation: Operation
    caller: Project | None
    target: Project
    task: str | None = None
    registered: bool = True  # a caller without a row holds what nobody holds

    @property
    def is_internal(self) -> bool:
        """True for a project's work on itself, which needs no permission."""
        return self.caller is not None and self.caller.hash == self.target.hash


@dataclass(frozen=True, slots=True)
class Verdict:
    """The level that is held; `broken` says why the permissions could not be read, which is a denial."""

    request: Request
    held: Level
    broken: str | None = None

    @property
    def allowed(self) -> bool:
        """True if the level held covers what the operation needs."""
        return self.held.covers(self.request.operation.needs)


def judged(snapshot: Snapshot, request: Request, trusts: Trusts = nobody) -> Verdict:
    """Return what the permissions of the home state say."""
    if request.is_internal:
        return Verdict(request, Level.EXECUTE)
    try:
        permissions = read_permissions(snapshot, trusts)
    except Invalid as exc:
        return Verdict(request, Level.NONE, exc.message)
    caller = request.caller.hash if request.caller and request.registered else None
    return Verdict(request, held(permissions, caller, request.target.hash))


def require(home: State, request: Request, now: datetime, *, audit_reads: bool) -> None:
    """Let a request pass, or refuse it. Every write, execute and denial is in the audit first.

    Raises: PermissionDenied; Failed for what is permitted and cannot be written down.
    """
    if request.is_internal:
        return
    verdict = judged(home.latest(), request, home.trusts)
    if verdict.allowed and request.operation.needs is Level.READ and not audit_reads:
        return
    try:
        verdict = home.transact(lambda snapshot: audited(snapshot, request, now, home.trusts))
    except (NexusError, OSError) as exc:
        if verdict.allowed:
            why = exc.message if isinstance(exc, NexusError) else exc.strerror or str(exc)
            raise Failed(
                f"{request.operation.command} on {request.target.name} is refused: it cannot be audited ({why})",
                hint=f"the audit is kept in {home.repo.common_dir}; try again when that can be written",
            ) from exc
    if not verdict.allowed:
        raise denial(verdict)


def audited(snapshot: Snapshot, request: Request, now: datetime, trusts: Trusts = nobody) -> Change[Verdict]:
    """Return the verdict at this very commit, and the line that goes on top of it."""
    verdict = judged(snapshot, request, trusts)
    line = AuditLine(
        timestamp=stamp(now),
        operation=request.operation.command,
        from_project=request.caller.hash if request.caller else None,
        to_project=request.target.hash,
        task_ref=f"{request.target.hash}:{request.task}" if request.task else None,
        permission_required=request.operation.needs,
        permission_granted=verdict.held,
        result="allowed" if verdict.allowed else "denied",
    )
    who = request.caller.name if request.caller else "nobody's project"
    why = f"audit: {who} {line.result} {request.operation.value} on {request.target.name}"
    return Change(appended(snapshot, line, now), why, verdict)


def denial(verdict: Verdict) -> PermissionDenied:
    """Return the refusal: what is held, what is needed, and the command that would grant it."""
    request, needed = verdict.request, verdict.request.operation.needs
    caller, target = request.caller, request.target
    context = {
        "operation": request.operation.command,
        "fromProject": caller.described() if caller else None,
        "toProject": target.described(),
        "permissionHeld": verdict.held.value,
        "permissionRequired": needed.value,
    }
    if verdict.broken is not None:
        return PermissionDenied(
            f"every access to another project is denied: {verdict.broken}",
            hint="git log -p refs/nexus/state in the home repository shows who wrote it, and what was there before",
            fix="git nexus permissions --list",
            context=context,
        )
    who = f"project '{caller.name}'" if caller else "who is in no project"
    message = (
        f"{who} has '{verdict.held.value}' permission to '{target.name}', "
        f"and git nexus {request.operation.value} requires '{needed.value}'"
    )
    if caller is None:
        return PermissionDenied(
            message, hint="change into a registered project first", fix="git nexus project list", context=context
        )
    grant = f"git nexus grant {caller.name} {target.name} --permission {needed.value}"
    listed = {"action": "See who may do what", "command": "git nexus permissions --list"}
    if request.registered:
        return PermissionDenied(message, fix=grant, context=context, alternatives=[listed])
    return PermissionDenied(
        message,
        hint=f"register '{caller.name}' first, then: {grant}",
        fix=f"git nexus register {shlex.quote(caller.path)} --name {caller.name}",
        context=context,
        alternatives=[{"action": "Grant it once it is registered", "command": grant}, listed],
    )
