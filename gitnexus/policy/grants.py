"""Standing approvals beyond one request: what a grant covers, how one is made, and which scopes can be offered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from gitnexus.base import clock
from gitnexus.base.record import Record
from gitnexus.policy.compiled_rules import LEVELS, NETWORKS, paths_to_write
from gitnexus.policy.facts import Facts, facts_of
from gitnexus.policy.model import (
    CommandRequest,
    HandoffRequest,
    Kind,
    Level,
    Network,
    NetworkRequest,
    Request,
    Scope,
)
from gitnexus.policy.patterns import ArgvPattern, NarrowMatcher, literal_word
from gitnexus.policy.request import request_digest

# The scopes of an approval by kind. For commands "repository" would mean every command, so it is missing.
SCOPES: dict[Kind, tuple[Scope, ...]] = {
    "patch": ("once", "session", "path", "repository"),
    "command": ("once", "session", "argv"),
    "handoff": ("once", "session", "workflow"),
    "plan_patch": ("once", "session", "path"),
    "agenda_patch": ("once", "session", "path"),
    "policy_change": ("once",),
    "memory_delete": ("once",),
    "network": ("once", "session"),
}
HIGHEST_STANDING_RISK = 3


class ApprovalGrant(Record):
    """An approval with a scope. Every given field must match; `expires` is a timestamp.

    Without one it is never valid.
    """

    scope: Scope
    kind: Kind
    project: str
    expires: str
    role: str = ""
    run: str = ""
    workflow: str = ""
    digest: str = ""
    paths: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    program: str = ""
    program_digest: str = ""
    cwd: str = ""
    stdin_digest: str = ""
    env_names: tuple[str, ...] = ()
    network: Network = "none"
    sandbox: Level = "L3"
    parties: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    # The files that the approved command was held to; None is no limit, and covers any.
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ScopeOffer:
    """A scope that a person can choose, and a description of what else it would allow."""

    scope: Scope
    also: str


@dataclass(frozen=True, slots=True)
class GrantContext:
    """What a grant needs besides the request: the worktree, and whether the executed program changed."""

    worktree: str = ""
    executed_changed: bool = True


_NOWHERE = GrantContext()


def grant_covers(
    grant: ApprovalGrant, request: Request, now: datetime, context: GrantContext = _NOWHERE, facts: Facts | None = None
) -> bool:
    """True if `grant` already approves `request`."""
    until = clock.parse_timestamp(grant.expires)
    if until is None or now >= until or grant.scope not in SCOPES.get(request.kind, ()):
        return False
    if (grant.kind, grant.project, grant.role) != (request.kind, request.project, request.role):
        return False
    if grant.scope == "once":
        return grant.run == request.run and bool(grant.digest) and grant.digest == request_digest(request)
    if grant.scope == "session" and grant.run != request.run:
        return False
    if isinstance(request, CommandRequest) and not (request.argv and request.argv[0]):
        return False
    known = facts or facts_of(request, context.worktree)
    if known.risk > HIGHEST_STANDING_RISK:
        return False
    if isinstance(request, CommandRequest):
        return _covers_command(grant, request, context, known)
    if isinstance(request, HandoffRequest):
        same_place = grant.scope != "workflow" or (grant.workflow != "" and grant.workflow == request.workflow)
        return same_place and grant.parties == (request.sender, request.receiver)
    if isinstance(request, NetworkRequest):
        return bool(request.hosts) and set(request.hosts) <= set(grant.hosts)
    paths = paths_to_write(request)
    reach = _compile_paths(grant.paths)
    return bool(paths) and not known.asking and all(reach.first(path) is not None for path in paths)


def _covers_command(grant: ApprovalGrant, request: CommandRequest, context: GrantContext, facts: Facts) -> bool:
    if not grant.argv or not grant.argv[0] or "path_in_worktree" in facts.tags:
        return False
    # Without a sandbox, a program that was harmless yesterday may be another one today.
    if request.sandbox == "L0" and context.executed_changed:
        return False
    pattern = ArgvPattern(grant.argv, "grant")
    same = (
        (grant.program, grant.program_digest) == (request.program, request.program_digest)
        and grant.stdin_digest == request.stdin_digest
        and grant.env_names == tuple(sorted(request.env))
        and grant.cwd == folder_of_grant(request, grant.scope, context)
        and NETWORKS.index(request.network) <= NETWORKS.index(grant.network)
        and LEVELS.index(request.sandbox) >= LEVELS.index(grant.sandbox)
        and grant.reads in (None, request.reads)
        and grant.writes in (None, request.writes)
    )
    return same and pattern.matches(request.argv) and not (facts.places.keys() & pattern.wild_places(request.argv))


def folder_of_grant(request: CommandRequest, scope: Scope, context: GrantContext) -> str:
    """Return the folder that a grant binds: for a session the exact one, else relative to each worktree."""
    top = context.worktree.rstrip("/")
    if scope == "session" or not top:
        return request.cwd
    return "." + request.cwd.removeprefix(top) if f"{request.cwd}/".startswith(f"{top}/") else request.cwd


@lru_cache(maxsize=64)
def _compile_paths(patterns: tuple[str, ...]) -> NarrowMatcher:
    return NarrowMatcher(patterns)


def make_grant(
    request: Request, scope: Scope, expires: datetime, context: GrantContext = _NOWHERE, argv: Sequence[str] = ()
) -> ApprovalGrant:
    """Return the grant for an approval of `request`. `argv` may have typed slots in place of words."""
    found = ApprovalGrant(
        scope=scope,
        kind=request.kind,
        project=request.project,
        expires=clock.format_timestamp(expires),
        role=request.role,
    )
    if scope in ("once", "session"):
        found = found.changed(run=request.run)
    if scope == "once":
        return found.changed(digest=request_digest(request))
    if isinstance(request, CommandRequest):
        return found.changed(
            argv=tuple(argv) or tuple(map(literal_word, request.argv)),
            program=request.program,
            program_digest=request.program_digest,
            cwd=folder_of_grant(request, scope, context),
            stdin_digest=request.stdin_digest,
            env_names=tuple(sorted(request.env)),
            network=request.network,
            sandbox=request.sandbox,
            reads=request.reads,
            writes=request.writes,
        )
    if isinstance(request, HandoffRequest):
        workflow = request.workflow if scope == "workflow" else ""
        return found.changed(workflow=workflow, parties=(request.sender, request.receiver))
    if isinstance(request, NetworkRequest):
        return found.changed(hosts=request.hosts)
    return found.changed(paths=("**",) if scope == "repository" else _escape_wildcards(paths_to_write(request)))


def _escape_wildcards(paths: Sequence[str]) -> tuple[str, ...]:
    """Return patterns that match exactly these paths: a wildcard in a file name becomes a one-letter set."""
    return tuple("".join(f"[{char}]" if char in "*?[" else char for char in path) for path in paths)


def scopes_to_offer(request: Request, context: GrantContext = _NOWHERE) -> tuple[ScopeOffer, ...]:
    """Return the scopes that can be offered for `request`, each with what else it would allow."""
    facts = facts_of(request, context.worktree)
    scopes = SCOPES.get(request.kind, ("once",))
    standing = facts.risk <= HIGHEST_STANDING_RISK and (isinstance(request, CommandRequest) or not facts.asking)
    if isinstance(request, CommandRequest):
        standing = standing and "path_in_worktree" not in facts.tags
    if isinstance(request, NetworkRequest):
        standing = True
    return tuple(ScopeOffer(scope, _describe_scope(request, scope)) for scope in scopes if scope == "once" or standing)


def _describe_scope(request: Request, scope: Scope) -> str:
    who = f"the role {request.role}" if request.role else "an agent without a role"
    if scope == "once":
        return "nothing else"
    if isinstance(request, CommandRequest):
        where = "in this run" if scope == "session" else "in this repository, in every run"
        return f"{who} may run this very command again {where}, also after files of the tree have changed"
    if isinstance(request, HandoffRequest):
        where = "in this run" if scope == "session" else "in this workflow"
        return f"{request.sender} may hand over to {request.receiver} again {where}"
    if isinstance(request, NetworkRequest):
        return f"{who} may reach these hosts again in this run"
    if scope == "repository":
        return f"{who} may change every file of this repository, in every run, unless a rule or a protected file asks"
    where = "in this run" if scope == "session" else "in this repository, in every run"
    return f"{who} may change these files again {where}, whatever is written into them"
