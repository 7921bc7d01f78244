"""The gateway with nothing faked behind it: the gate, tokens and their ledger, and the sandbox, around one worktree."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from gitnexus.gateway.bench import Bench
from gitnexus.gateway.commanding import CommandDeed
from gitnexus.gateway.door import Door
from gitnexus.gateway.needs import Ran
from gitnexus.git import discover
from gitnexus.policy.gate import World, decide
from gitnexus.policy.law import Law, law_of, unreadable_under
from gitnexus.policy.model import CommandRequest, Decision, Level, PatchRequest, Request
from gitnexus.policy.request import digest
from gitnexus.policy.rules import policy_of
from gitnexus.policy.tokens import Expected, redeemed
from gitnexus.redaction import mask
from gitnexus.sandbox.environment import PATH, environment
from gitnexus.sandbox.program import resolved
from gitnexus.sandbox.run import run
from gitnexus.sandbox.spec import Limits, Spec
from tests.conftest import run_git
from tests.gateway.scene import Whole, repository_at
from tests.policy.signing import NOW, PROJECT, Scene, scene
from tests.sandbox.conftest import need

SCRIPT = '#!/bin/sh\nprintf \'%s\\n\' "$PWD" "$LANG" "$@" >> marks\nmkdir -p -- "made/$1"\n'


def expected_of(request: Request, found: str) -> Expected:
    """Return what a token must say about a request that is about to be executed."""
    patch = isinstance(request, PatchRequest)
    return Expected(
        project=request.project, run=request.run, action="a1", kind=request.kind, request=found, mode="default",
        base=request.base if isinstance(request, (PatchRequest, CommandRequest)) else "",
        result=request.result_tree if patch else "", patch_id="", role=request.role,
    )  # fmt: skip


@dataclass
class Room:
    """One worktree with all that guards it; `executed` is what really went into the sandbox."""

    place: Path
    law: Law
    keys: Scene
    executed: list[CommandRequest] = field(default_factory=list)
    judged: list[Request] = field(default_factory=list)
    level: Level = "L1"

    def decide(self, request: Request) -> Decision:
        self.judged.append(request)
        return decide(request, self.law, world=World(worktree=str(self.place)))

    def issue(self, request: Request, found: str, decision: Decision) -> str:
        return self.token(request)

    def token(self, request: Request) -> str:
        return self.keys.token(expected_of(request, digest(request)), lasts=timedelta(minutes=10))

    def spend(self, token: str, request: Request, found: str) -> None:
        # Not the digest that was handed over: that of what is about to be executed.
        redeemed(token, expected_of(request, digest(request)), self.keys.approvers, NOW, self.keys.ledger)

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        return environment(wanted, {})

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        found = resolved(name, PATH, str(cwd), str(self.place))
        return found.path, found.digest

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> Ran:
        self.executed.append(request)
        limits = Limits(seconds=request.limits["seconds"], processes=64)
        spec = Spec(
            argv=request.argv, program=request.program, cwd=request.cwd, root=str(self.place), env=request.env,
            network=request.network, limits=limits, stdin=stdin, level=request.sandbox,
        )  # fmt: skip
        ended = run(spec, sink)
        return Ran(status=ended.status, seconds=ended.seconds, level=ended.level, signal=ended.signal)

    @property
    def bench(self) -> Bench:
        door = Door(self, digest, self.spend, mask, Whole, lambda kind, fields: None)
        return Bench(
            discover(self.place), PROJECT, "r1", "engineer", door, self, self.place.parent / "artifacts",
            denied=unreadable_under(self.law),
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
    law = law_of(policy_of(f"---\nversion: 1\n{front}\n---\n".encode(), "user"))
    return Room(main.parent / "work", law, scene(main / ".git"))


def asked(room: Room, params: Mapping[str, Any]) -> CommandRequest:
    """Return the request that a call would make, as a person would be shown it."""
    limits = {"seconds": params["seconds"]}
    with CommandDeed(room.bench, params["argv"], "", params.get("cwd", ""), limits=limits).prepared() as (request, _):
        assert isinstance(request, CommandRequest)
        return request
