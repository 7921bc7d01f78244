"""The gateway with nothing faked behind it: the gate, tokens and their ledger, and the sandbox, around one worktree."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from gitnexus.gateway.commanding import CommandAction
from gitnexus.gateway.execute import ExecutionGate
from gitnexus.gateway.protocols import CommandResult
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git import discover
from gitnexus.policy.compiled_rules import CompiledPolicy, compile_policy, make_read_check
from gitnexus.policy.gate import GateContext, decide_request
from gitnexus.policy.model import CommandRequest, GateDecision, Level, PatchRequest, Request
from gitnexus.policy.request import request_digest
from gitnexus.policy.rules import parse_policy
from gitnexus.policy.tokens import ExpectedAction, redeem_token
from gitnexus.redaction import mask
from gitnexus.sandbox.environment import PATH, command_environment
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import SandboxLimits, SandboxSpec
from tests.conftest import run_git
from tests.gateway.scene import Whole, repository_at
from tests.policy.signing import NOW, PROJECT, Scene, scene
from tests.sandbox.conftest import need

SCRIPT = '#!/bin/sh\nprintf \'%s\\n\' "$PWD" "$LANG" "$@" >> marks\nmkdir -p -- "made/$1"\n'


def expected_of(request: Request, found: str) -> ExpectedAction:
    """Return what a token must say about a request that is about to be executed."""
    patch = isinstance(request, PatchRequest)
    return ExpectedAction(
        project=request.project, run=request.run, action="a1", kind=request.kind, request=found, mode="default",
        base=request.base if isinstance(request, (PatchRequest, CommandRequest)) else "",
        result=request.result_tree if patch else "", patch_id="", role=request.role,
    )  # fmt: skip


@dataclass
class Room:
    """One worktree with all that guards it; `executed` is what really went into the sandbox."""

    place: Path
    law: CompiledPolicy
    keys: Scene
    executed: list[CommandRequest] = field(default_factory=list)
    judged: list[Request] = field(default_factory=list)
    level: Level = "L1"

    def decide(self, request: Request) -> GateDecision:
        self.judged.append(request)
        return decide_request(request, self.law, world=GateContext(worktree=str(self.place)))

    def issue(self, request: Request, found: str, decision: GateDecision) -> str:
        return self.token(request)

    def token(self, request: Request) -> str:
        return self.keys.token(expected_of(request, request_digest(request)), lasts=timedelta(minutes=10))

    def spend(self, token: str, request: Request, found: str) -> None:
        # Not the digest that was handed over: that of what is about to be executed.
        redeem_token(token, expected_of(request, request_digest(request)), self.keys.approvers, NOW, self.keys.ledger)

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        return command_environment(wanted, {})

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        found = resolve_program(name, PATH, str(cwd), str(self.place))
        return found.path, found.digest

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> CommandResult:
        self.executed.append(request)
        limits = SandboxLimits(seconds=request.limits["seconds"], processes=64)
        spec = SandboxSpec(
            argv=request.argv, program=request.program, cwd=request.cwd, root=str(self.place), env=request.env,
            network=request.network, limits=limits, stdin=stdin, level=request.sandbox,
        )  # fmt: skip
        ended = run_in_sandbox(spec, sink)
        return CommandResult(status=ended.status, seconds=ended.seconds, level=ended.level, signal=ended.signal)

    @property
    def bench(self) -> ToolContext:
        door = ExecutionGate(self, request_digest, self.spend, mask, Whole, lambda kind, fields: None)
        return ToolContext(
            discover(self.place), PROJECT, "r1", "engineer", door, self, self.place.parent / "artifacts",
            denied=make_read_check(self.law),
        )  # fmt: skip


def room_at(place: Path, front: str = "") -> Room:
    """Make a repository and a linked worktree beside it, so that the sandbox keeps commands from the git directory."""
    need("L1")
    main = repository_at(Path(os.path.realpath(place)) / "main")
    (main / "sub").mkdir()
    (main / "sub" / "keep").write_text("")
    (main / "mark").write_text(SCRIPT)
    (main / "mark").chmod(0o755)
    run_git(main, "add", "-A")
    run_git(main, "commit", "-qm", "second")
    run_git(main, "worktree", "add", "-q", "../work", "-b", "work")
    law = compile_policy(parse_policy(f"---\nversion: 1\n{front}\n---\n".encode(), "user"))
    return Room(main.parent / "work", law, scene(main / ".git"))


def asked(room: Room, params: Mapping[str, Any]) -> CommandRequest:
    """Return the request that a call would make, as a person would be shown it."""
    limits = {"seconds": params["seconds"]}
    with CommandAction(room.bench, params["argv"], "", params.get("cwd", ""), limits=limits).prepared() as (request, _):
        assert isinstance(request, CommandRequest)
        return request
