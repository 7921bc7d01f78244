"""Requests and laws for the tests of the gate, with only what a test is about to be said."""

from typing import Any

from gitnexus.policy.compiled_rules import CompiledPolicy, compile_policy
from gitnexus.policy.model import CommandRequest, HandoffRequest, PatchRequest, PatchRow
from gitnexus.policy.rules import Policy, parse_policy

A, B, T1, T2 = "a" * 40, "b" * 40, "c" * 40, "d" * 40


def change(path: str, **fields: Any) -> PatchRow:
    given = {"old_mode": "100644", "new_mode": "100644", "old_blob": A, "new_blob": B, **fields}
    return PatchRow(path=path, **given)


def patch(*changes: str | PatchRow, **fields: Any) -> PatchRequest:
    rows = tuple(change(one) if isinstance(one, str) else one for one in changes)
    given = {"project": "p", "run": "r", "base": A, "base_tree": T1, "result_tree": T2, **fields}
    return PatchRequest(changes=rows, **given)


def command(*argv: str, **fields: Any) -> CommandRequest:
    name = argv[0] if argv else ""
    program = name if name.startswith("/") else name.replace(".", "/w", 1) if "/" in name else f"/usr/bin/{name}"
    given = {
        **{"project": "p", "run": "r", "program": program, "program_digest": "sha256:0", "cwd": "/w", "base": A},
        **{"env": {}, "limits": {"seconds": 60}},
        **fields,
    }
    return CommandRequest(argv=argv, **given)


def handoff(sender: str = "planner", receiver: str = "executor", **fields: Any) -> HandoffRequest:
    given = {"project": "p", "run": "r", "workflow": "w", "message_digest": "sha256:0", **fields}
    return HandoffRequest(sender=sender, receiver=receiver, **given)


def text(front: str) -> bytes:
    return f"---\nversion: 1\n{front}\n---\n\nProse.\n".encode()


def policy(front: str, layer: Any = "user") -> Policy:
    return parse_policy(text(front), layer)


def law(front: str = "", project: str | None = None, **fields: Any) -> CompiledPolicy:
    theirs = policy(project, "project") if project is not None else None
    return compile_policy(policy(front), theirs, **fields)
