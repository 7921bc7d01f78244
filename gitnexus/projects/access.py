"""Checks and audits access between projects: every permitted write and every denial is logged before it happens."""

import shlex
from dataclasses import dataclass
from datetime import datetime

from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Failed, Invalid, NexusError, PermissionDenied
from gitnexus.projects.audit import AuditLine, files_with_line
from gitnexus.projects.grants import Trusts, read_permissions, trust_nobody
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.operations import Operation
from gitnexus.projects.permissions import level_held
from gitnexus.state import Change, Snapshot, State


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """An operation that the current project (None: outside of all projects) requests on another project."""

    operation: Operation
    caller: Project | None
    target: Project
    task: str | None = None
    registered: bool = True  # a caller without a row holds what nobody holds

    @property
    def is_internal(self) -> bool:
        """Return True if a project works on its own data, which needs no permission."""
        return self.caller is not None and self.caller.hash == self.target.hash


@dataclass(frozen=True, slots=True)
class AccessVerdict:
    """The permission level held; `broken` says why the permissions are unreadable, which denies."""

    request: AccessRequest
    held: Level
    broken: str | None = None

    @property
    def allowed(self) -> bool:
        """Return True if the level held covers the level that the operation needs."""
        return self.held.covers(self.request.operation.needs)


def judge_access(snapshot: Snapshot, request: AccessRequest, trusts: Trusts = trust_nobody) -> AccessVerdict:
    """Return the verdict by the permissions of the home state."""
    if request.is_internal:
        return AccessVerdict(request, Level.EXECUTE)
    try:
        permissions = read_permissions(snapshot, trusts)
    except Invalid as exc:
        return AccessVerdict(request, Level.NONE, exc.message)
    caller = request.caller.hash if request.caller and request.registered else None
    return AccessVerdict(request, level_held(permissions, caller, request.target.hash))


def require_access(home: State, request: AccessRequest, now: datetime, *, audit_reads: bool) -> None:
    """Raise an error unless the request is permitted. Every write, execute and denial is audited first.

    Raises: PermissionDenied; Failed if a permitted request cannot be audited.
    """
    if request.is_internal:
        return
    verdict = judge_access(home.latest(), request, home.trusts)
    if verdict.allowed and request.operation.needs is Level.READ and not audit_reads:
        return
    try:
        verdict = home.transact(lambda snapshot: verdict_with_audit(snapshot, request, now, home.trusts))
    except (NexusError, OSError) as exc:
        if verdict.allowed:
            why = exc.message if isinstance(exc, NexusError) else exc.strerror or str(exc)
            raise Failed(
                f"{request.operation.command} on {request.target.name} is refused: it cannot be audited ({why})",
                hint=f"the audit is stored in {home.repo.common_dir}; try again when that can be written",
            ) from exc
    if not verdict.allowed:
        raise denial_error(verdict)


def verdict_with_audit(
    snapshot: Snapshot, request: AccessRequest, now: datetime, trusts: Trusts = trust_nobody
) -> Change[AccessVerdict]:
    """Return the verdict at this commit, and the audit line to write on top of it."""
    verdict = judge_access(snapshot, request, trusts)
    line = AuditLine(
        timestamp=format_timestamp(now),
        operation=request.operation.command,
        from_project=request.caller.hash if request.caller else None,
        to_project=request.target.hash,
        task_ref=f"{request.target.hash}:{request.task}" if request.task else None,
        permission_required=request.operation.needs,
        permission_granted=verdict.held,
        result="allowed" if verdict.allowed else "denied",
    )
    who = request.caller.name if request.caller else "nobody's project"
    why = f"audit: {who} {line.result} {request.operation.command.removeprefix('git nexus ')} on {request.target.name}"
    return Change(files_with_line(snapshot, line, now), why, verdict)


def denial_error(verdict: AccessVerdict) -> PermissionDenied:
    """Return the error: the level held, the level needed, and the command that grants it."""
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
        f"and {request.operation.command} requires '{needed.value}'"
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
