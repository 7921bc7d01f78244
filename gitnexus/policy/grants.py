"""Standing approvals: what a person said yes to beyond one request, how far that reaches, and what can be offered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from gitnexus.base import clock
from gitnexus.base.record import Record
from gitnexus.policy.facts import Facts, facts_of
from gitnexus.policy.law import LEVELS, NETWORKS, path_requests
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
from gitnexus.policy.patterns import Argv, Narrow, literal_word
from gitnexus.policy.request import digest

# How far a yes may reach, by kind. "repository" for commands would be every command, so it is not there.
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


class Grant(Record):
    """A yes with its reach. Every field that is said must hold; `expires` is a stamp; without one it never holds."""

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


@dataclass(frozen=True, slots=True)
class Offer:
    """A scope that a person can choose, and in words what it would allow besides this request."""

    scope: Scope
    also: str


@dataclass(frozen=True, slots=True)
class Around:
    """What a grant needs to know beside the request: where the worktree is, and whether what is executed changed."""

    worktree: str = ""
    executed_changed: bool = True


_NOWHERE = Around()


def covers(
    grant: Grant, request: Request, now: datetime, around: Around = _NOWHERE, facts: Facts | None = None
) -> bool:
    """True if the person who gave `grant` has already said yes to `request`."""
    until = clock.read(grant.expires)
    if until is None or now >= until or grant.scope not in SCOPES.get(request.kind, ()):
        return False
    if (grant.kind, grant.project, grant.role) != (request.kind, request.project, request.role):
        return False
    if grant.scope == "once":
        return grant.run == request.run and bool(grant.digest) and grant.digest == digest(request)
    if grant.scope == "session" and grant.run != request.run:
        return False
    if isinstance(request, CommandRequest) and not (request.argv and request.argv[0]):
        return False
    known = facts or facts_of(request, around.worktree)
    if known.risk > HIGHEST_STANDING_RISK:
        return False
    if isinstance(request, CommandRequest):
        return _covers_command(grant, request, around, known)
    if isinstance(request, HandoffRequest):
        same_place = grant.scope != "workflow" or (grant.workflow != "" and grant.workflow == request.workflow)
        return same_place and grant.parties == (request.sender, request.receiver)
    if isinstance(request, NetworkRequest):
        return bool(request.hosts) and set(request.hosts) <= set(grant.hosts)
    paths = path_requests(request)
    reach = _narrow(grant.paths)
    return bool(paths) and not known.asking and all(reach.first(path) is not None for path in paths)


def _covers_command(grant: Grant, request: CommandRequest, around: Around, facts: Facts) -> bool:
    if not grant.argv or not grant.argv[0] or "path_in_worktree" in facts.tags:
        return False
    # Without a sandbox, what ran harmlessly yesterday may be another program today.
    if request.sandbox == "L0" and around.executed_changed:
        return False
    pattern = Argv(grant.argv, "grant")
    same = (
        (grant.program, grant.program_digest) == (request.program, request.program_digest)
        and grant.stdin_digest == request.stdin_digest
        and grant.env_names == tuple(sorted(request.env))
        and grant.cwd == place_of(request, grant.scope, around)
        and NETWORKS.index(request.network) <= NETWORKS.index(grant.network)
        and LEVELS.index(request.sandbox) >= LEVELS.index(grant.sandbox)
    )
    return same and pattern.matches(request.argv) and not (facts.places.keys() & pattern.wild(request.argv))


def place_of(request: CommandRequest, scope: Scope, around: Around) -> str:
    """Return the folder that a grant binds: within a session the very one, else the same below each worktree."""
    top = around.worktree.rstrip("/")
    if scope == "session" or not top:
        return request.cwd
    return "." + request.cwd.removeprefix(top) if f"{request.cwd}/".startswith(f"{top}/") else request.cwd


@lru_cache(maxsize=64)
def _narrow(patterns: tuple[str, ...]) -> Narrow:
    return Narrow(patterns)


def granted(
    request: Request, scope: Scope, expires: datetime, around: Around = _NOWHERE, argv: Sequence[str] = ()
) -> Grant:
    """Return the grant that a yes to `request` makes. `argv` may put typed slots where the request has a word."""
    found = Grant(
        scope=scope, kind=request.kind, project=request.project, expires=clock.stamp(expires), role=request.role
    )
    if scope in ("once", "session"):
        found = found.changed(run=request.run)
    if scope == "once":
        return found.changed(digest=digest(request))
    if isinstance(request, CommandRequest):
        return found.changed(
            argv=tuple(argv) or tuple(map(literal_word, request.argv)),
            program=request.program,
            program_digest=request.program_digest,
            cwd=place_of(request, scope, around),
            stdin_digest=request.stdin_digest,
            env_names=tuple(sorted(request.env)),
            network=request.network,
            sandbox=request.sandbox,
        )
    if isinstance(request, HandoffRequest):
        workflow = request.workflow if scope == "workflow" else ""
        return found.changed(workflow=workflow, parties=(request.sender, request.receiver))
    if isinstance(request, NetworkRequest):
        return found.changed(hosts=request.hosts)
    return found.changed(paths=("**",) if scope == "repository" else _exactly(path_requests(request)))


def _exactly(paths: Sequence[str]) -> tuple[str, ...]:
    """Return patterns that mean these paths and no other: a wildcard in a file's name becomes a set of one."""
    return tuple("".join(f"[{char}]" if char in "*?[" else char for char in path) for path in paths)


def offers(request: Request, around: Around = _NOWHERE) -> tuple[Offer, ...]:
    """Return the scopes that can be offered for `request`, each with what it would also allow."""
    facts = facts_of(request, around.worktree)
    scopes = SCOPES.get(request.kind, ("once",))
    standing = facts.risk <= HIGHEST_STANDING_RISK and (isinstance(request, CommandRequest) or not facts.asking)
    if isinstance(request, CommandRequest):
        standing = standing and "path_in_worktree" not in facts.tags
    if isinstance(request, NetworkRequest):
        standing = True
    return tuple(Offer(scope, _also(request, scope)) for scope in scopes if scope == "once" or standing)


def _also(request: Request, scope: Scope) -> str:
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
