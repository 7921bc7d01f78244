"""Computes for `policy explain` what the gate would decide on a command or patch, and why; executes nothing."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

from gitnexus.base.errors import BadUsage, DeniedByPolicy
from gitnexus.gateway.tool_context import denying_rule
from gitnexus.git import Repo
from gitnexus.git.private import private_git
from gitnexus.git.revisions import resolve_head
from gitnexus.policy.compiled_rules import make_read_check
from gitnexus.policy.gate import BatchUsage, GateContext, decide_request
from gitnexus.policy.in_force import PolicyInForce
from gitnexus.policy.model import CommandRequest, GateDecision, Kind, Level, Mode, Network, Request
from gitnexus.policy.request import request_digest
from gitnexus.policy.rules import Layer
from gitnexus.state import State
from gitnexus.state.format import project_id_of


@dataclass(frozen=True)
class Asked:
    """What to explain."""

    argv: tuple[str, ...] = ()
    patch: bytes | None = None
    mode: Mode | None = None
    role: str = ""
    network: Network = "none"
    sandbox: Level = "L1"


@dataclass(frozen=True)
class Explained:
    """The gate's decision; `digest` is that of the request, None for a patch refused before the gate."""

    kind: Kind
    decision: GateDecision
    digest: str | None = None


def explained(repo: Repo, state: State, in_force: PolicyInForce, asked: Asked, cwd: Path) -> Explained:
    """Return the gate's decision on what was asked. Raises: BadUsage, NotFound, Conflict, Invalid."""
    if (asked.patch is None) == (not asked.argv):
        raise BadUsage("say a command after --, or --patch FILE", hint="git nexus policy explain -- git status")
    if asked.patch is None:
        return _judged(repo, state, in_force, asked, _command(state, asked, cwd))
    return _patch(repo, state, in_force, asked, asked.patch)


def _judged(repo: Repo, state: State, in_force: PolicyInForce, asked: Asked, request: Request) -> Explained:
    top = str(repo.worktree or repo.folder)
    world = GateContext(worktree=top, executed_changed=asked.sandbox == "L0", used=BatchUsage())
    return Explained(
        request.kind, decide_request(request, in_force.compiled, mode=asked.mode, world=world), request_digest(request)
    )


def _command(state: State, asked: Asked, cwd: Path) -> CommandRequest:
    place = os.path.realpath(cwd)
    found = shutil.which(asked.argv[0], path=os.defpath if not os.environ.get("PATH") else None)
    if "/" in asked.argv[0]:
        found = str(Path(place, asked.argv[0]))
    program = os.path.realpath(found) if found else ""
    held = Path(program).read_bytes() if program and Path(program).is_file() else b""
    return CommandRequest(
        **_common(state, asked),
        files=None,
        reads=None,
        writes=None,
        argv=asked.argv,
        # A program that is not installed can still be judged by its name.
        program=program or f"/usr/bin/{asked.argv[0]}",
        program_digest=f"sha256:{hashlib.sha256(held).hexdigest()}",
        cwd=place,
        base="",
        env={},
        limits={},
        network=asked.network,
        sandbox=asked.sandbox,
    )


def _patch(repo: Repo, state: State, in_force: PolicyInForce, asked: Asked, patch: bytes) -> Explained:
    # Gateway and private git: only needed for a patch.
    from gitnexus.gateway.patching import PatchRefused, check_patch, make_patch_request

    rule_on = partial(denying_rule, make_read_check(in_force.compiled))
    try:
        with private_git(repo) as git:
            done = check_patch(git, resolve_head(repo, git), patch, rule_on)
    except (DeniedByPolicy, PatchRefused) as exc:
        rule = str(exc.context["rule"])
        instead = f"git nexus policy remove {rule}" if rule.startswith(get_args(Layer)) else "nothing: this is built in"
        decision = GateDecision(verdict="deny", rule=rule, why=exc.message, risk=4, tags=(), instead=instead)
        return Explained("patch", decision)
    return _judged(repo, state, in_force, asked, make_patch_request(done, **_common(state, asked)))


def _common(state: State, asked: Asked) -> dict[str, str]:
    return {"project": project_id_of(state.snapshot) or "unknown", "run": "explain", "role": asked.role}
