"""What a run asked for besides patches, carried out once it may be: a command in the sandbox, a handoff."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gitnexus.app.bench import bench_of
from gitnexus.app.confine import Sandbox
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import Conflict, Invalid, NexusError
from gitnexus.events.kinds import short
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.commanding import found_again, ran
from gitnexus.gateway.testrun.commandline import runner_of
from gitnexus.policy.model import AgendaRequest, CommandRequest, DocumentRequest, HandoffRequest, Request
from gitnexus.policy.request import digest

GATE = "gate"
TOOLS = {"command": "cmd.run", "handoff": "handoff", "plan_patch": "plan.change", "agenda_patch": "agenda.change"}


def bench_for(desk: RunDesk, role: str = "") -> Bench:
    """Return the bench of a run for an agent of `role`, on the run's own worktree. Raises: NexusError."""
    keeper, worktree = desk.keeper(), desk.worktree
    made = bench_of(desk.state, keeper, desk.recorder(keeper, desk.run.agent), None, desk.run.id, role)
    return replace(made, repo=worktree, confine=Sandbox(worktree, keeper.here.law))


def check(desk: RunDesk, action: str, request: Request) -> None:
    """Refuse a command that would no longer do what was proposed, and say so to who proposed it. Raises: Conflict."""
    if not isinstance(request, CommandRequest):
        return
    try:
        _refuse_change(bench_for(desk), request)
    except Conflict as exc:
        desk.log.append("action.rejected", GATE, {"action": action, "why": short(exc.message), "error": exc.name})
        raise


def carried_out(
    desk: RunDesk, action: str, request: Request, nonce: str, spend: Callable[[], None], *, begun: bool = False
) -> str:
    """Do it, and write down how it ended; `spend` burns the token. Raises: NexusError before anything was done.

    What was `begun` and not seen to end is brought to its end, if it is one that nothing outside of the log notices.
    """
    tool = TOOLS.get(request.kind)
    if tool is None:
        raise Invalid(f"no run can carry out {request.kind}")
    bench = bench_for(desk)
    _refuse_change(bench, request)
    intended = {"action": action, "tool": tool, "digest": digest(request), "nonce": nonce}
    if not begun:
        desk.log.append("tool.intended", GATE, intended)
    spend()
    try:
        answer = _done(desk, bench, request, action)
    except NexusError as exc:
        answer = {"ok": False, "output": exc.message}
    kept = desk.artifacts.write(f"result-{action}.json", json.dumps(answer).encode())
    body: dict[str, Any] = {
        "action": action,
        "tool": tool,
        "ok": answer["ok"],
        "result": short(answer["output"], 2000),
        "artifacts": [kept.digest],
    }
    if isinstance(answer.get("status"), int):
        body["status"] = answer["status"]
    if isinstance(request, CommandRequest) and (runner := runner_of(request.argv)):
        body["tests"] = runner
    written = {"name": kept.name, "digest": kept.digest, "size": kept.size, "action": action}
    desk.log.append("artifact.written", "nexus", written)
    desk.log.append("tool.executed", GATE, body)
    return "executed"


def _refuse_change(bench: Bench, request: Request) -> None:
    if not isinstance(request, CommandRequest):
        return
    now = found_again(bench, request)
    if digest(now) != digest(request):
        old, new = request.plain(), now.plain()
        changed = ", ".join(key for key in new if old.get(key) != new[key])
        raise Conflict(
            f"what was proposed is no longer what would be done, for this changed: {changed}",
            hint="it has to be proposed again",
        )


def _done(desk: RunDesk, bench: Bench, request: Request, action: str) -> dict[str, Any]:
    if isinstance(request, HandoffRequest):
        # The message was kept when it was proposed; it is the prompt of the step that this becomes.
        return {"ok": True, "output": f"{request.receiver} goes on when this step has ended"}
    if isinstance(request, DocumentRequest) and request.kind == "plan_patch":
        # The new plan was kept when it was proposed: from here on it is the one in force.
        desk.artifacts.read(request.new_digest)
        return {"ok": True, "output": f"{request.path} is now {request.new_digest}"}
    if isinstance(request, AgendaRequest):
        from gitnexus.app.runagenda import applied  # it stands above us: what it proposes is a patch

        return {"ok": True, "output": f"{request.path} is changed by {applied(desk, action, request)}"}
    if not isinstance(request, CommandRequest):
        raise Invalid(f"no run can carry out {request.kind}")
    stdin = desk.artifacts.read(request.stdin_digest) if request.stdin_digest else b""
    answer = ran(bench, request, stdin)
    return {**answer, "ok": answer["status"] == 0}
