"""Executes an approved request that is not a patch: a command in the sandbox, a handoff or a document change."""

import json
from collections.abc import Callable
from typing import Any

from gitnexus.base.errors import Conflict, Invalid, NexusError
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.commanding import refresh_command_request, run_command_request
from gitnexus.gateway.testrun.commandline import runner_of
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.policy.model import AgendaRequest, CommandRequest, DocumentRequest, HandoffRequest, Request
from gitnexus.policy.request import request_digest
from gitnexus.runs.actions.tool_context import GATE, tool_context_for
from gitnexus.runs.open_run import OpenRun

_LONGEST_RESULT = 2000
TOOLS = {"command": "cmd.run", "handoff": "handoff", "plan_patch": "plan.change", "agenda_patch": "agenda.change"}


def check_command_unchanged(run: OpenRun, action: str, request: Request) -> None:
    """Raise and log an error if the command would no longer do what was proposed. Raises: Conflict."""
    if not isinstance(request, CommandRequest):
        return
    try:
        _refuse_changed_command(tool_context_for(run), request)
    except Conflict as exc:
        run.log.append("action.rejected", GATE, {"action": action, "why": shorten_text(exc.message), "error": exc.name})
        raise


def execute_request(
    run: OpenRun, action: str, request: Request, nonce: str, spend: Callable[[], None], *, begun: bool = False
) -> str:
    """Execute the request and log its result; `spend` spends the token. Raises: NexusError before anything happened.

    A request that has `begun` without a recorded end is completed, if it has no effect outside the log.
    """
    tool = TOOLS.get(request.kind)
    if tool is None:
        raise Invalid(f"no run can carry out {request.kind}")
    context = tool_context_for(run)
    _refuse_changed_command(context, request)
    intended = {"action": action, "tool": tool, "digest": request_digest(request), "nonce": nonce}
    if not begun:
        run.log.append("tool.intended", GATE, intended)
    spend()
    try:
        answer = _perform_request(run, context, request, action)
    except NexusError as exc:
        answer = {"ok": False, "output": exc.message}
    kept = run.artifacts.write(f"result-{action}.json", json.dumps(answer).encode())
    body: dict[str, Any] = {
        "action": action,
        "tool": tool,
        "ok": answer["ok"],
        "result": shorten_text(answer["output"], _LONGEST_RESULT) if answer["ok"] else _end_of_text(answer["output"]),
        "artifacts": [kept.digest],
    }
    if isinstance(answer.get("status"), int):
        body["status"] = answer["status"]
    if isinstance(request, CommandRequest) and (runner := runner_of(request.argv)):
        body["tests"] = runner
    written = {"name": kept.name, "digest": kept.digest, "size": kept.size, "action": action}
    run.log.append("artifact.written", "nexus", written)
    run.log.append("tool.executed", GATE, body)
    return "executed"


def _end_of_text(text: str) -> str:
    """Return the end of a text, where the reason of a failure usually is."""
    return text if len(text) <= _LONGEST_RESULT else f"…{text[1 - _LONGEST_RESULT :]}"


def _refuse_changed_command(context: ToolContext, request: Request) -> None:
    if not isinstance(request, CommandRequest):
        return
    now = refresh_command_request(context, request)
    if request_digest(now) != request_digest(request):
        old, new = request.plain(), now.plain()
        changed = ", ".join(key for key in new if old.get(key) != new[key])
        raise Conflict(
            f"what was proposed is no longer what would be done, because this changed: {changed}",
            hint="it has to be proposed again",
        )


def _perform_request(run: OpenRun, context: ToolContext, request: Request, action: str) -> dict[str, Any]:
    if isinstance(request, HandoffRequest):
        # The message was stored with the proposal; it becomes the prompt of the new step.
        return {"ok": True, "output": f"{request.receiver} continues when this step has ended"}
    if isinstance(request, DocumentRequest) and request.kind == "plan_patch":
        # The new plan was stored with the proposal: from here on it is in force.
        run.artifacts.read(request.new_digest)
        return {"ok": True, "output": f"{request.path} is now {request.new_digest}"}
    if isinstance(request, AgendaRequest):
        from gitnexus.runs.actions.commit_agenda import commit_agenda_change  # reads the documents: few runs do

        return {"ok": True, "output": f"{request.path} is changed by {commit_agenda_change(run, action, request)}"}
    if not isinstance(request, CommandRequest):
        raise Invalid(f"no run can carry out {request.kind}")
    stdin = run.artifacts.read(request.stdin_digest) if request.stdin_digest else b""
    answer = run_command_request(context, request, stdin)
    return {**answer, "ok": answer["status"] == 0}
