"""Table of the tools that a run's agent can call: to read, propose and ask."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from gitnexus.base.errors import Busy, Conflict, DeniedByPolicy, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.base.tool import Tool, check_parameters
from gitnexus.events.kinds import shorten_text
from gitnexus.events.view import ActionView
from gitnexus.gateway.project_tools import make_tool_row, read_project_packs, summary_of_call
from gitnexus.gateway.table import TOOLS as GATEWAY
from gitnexus.gateway.toolpacks import PackTool, argv_for_call
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.actions import ask
from gitnexus.runs.actions.tool_context import GATE, tool_context_for
from gitnexus.runs.agent.report_block import report_block
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.step_proof import prove_proposed_patch

MOST_PATIENCE = 50
# Limit of calls: each is logged, and an agent in a loop must not fill the disk.
MOST_EVENTS = 20_000
_OUTPUT = 32 * 1024


def _call_propose_patch(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        raw = given["patch"].encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise Invalid("patch holds an unpaired surrogate") from exc
    proof = prove_proposed_patch(run, run.caller, given["patch"])
    if proof.why:
        raise Conflict(proof.why)
    summary, replaces = given.get("summary", ""), given.get("replaces", "")
    return action_or_question_state(run, ask.propose_patch(run, raw, summary, replaces, proofs=proof.proofs))


def _call_propose_command(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return action_or_question_state(run, ask.propose_command(run, given["argv"], given.get("summary", ""), given))


def _call_propose_handoff(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return action_or_question_state(
        run, ask.propose_handoff(run, given["to"], given["message"], given.get("summary", ""))
    )


def _call_report_block(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return report_block(run, given)


def _call_ask_person(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return action_or_question_state(run, ask.ask_question(run, given["question"]))


def _call_read_file(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    path = given.get("path", "")
    rest = {name: value for name, value in given.items() if name != "path"}
    if path and not path.endswith("/"):
        return GATEWAY["repo.read_file"].run(tool_context_for(run), given)
    below = path.rstrip("/")
    return GATEWAY["repo.list_tree"].run(tool_context_for(run), {**rest, **({"path": below} if below else {})})


def _call_search_files(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return GATEWAY["repo.search"].run(tool_context_for(run), given)


def _call_show_diff(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return GATEWAY["git.diff"].run(tool_context_for(run), given)


def _call_run_status(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("id"):
        return action_or_question_state(run, given["id"])
    view = run.view()
    return {
        "run": run.record.id,
        "status": view.status,
        "actions": [_action_summary(name, one) for name, one in view.actions.items()],
        "questions": [{"question": name, "text": text} for name, text in view.questions.items()],
    }


def _call_wait_for(run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    return action_or_question_state(run, given["id"])


_FORMS = "gitnexus.runs.agent.parameters"

_ALL: tuple[Tool[OpenRun], ...] = (
    Tool(
        "propose_patch",
        "Propose a change of files, as a diff, search/replace blocks or whole files, on the last commit of this run's "
        "branch. Once approved, it is committed there and applied to the files. One patch waits at a time.",
        f"{_FORMS}:ProposePatchParameters",
        _call_propose_patch,
        destructive=True,
    ),
    Tool(
        "propose_command",
        "Propose to run one program in the sandbox, on the files of this run. There is no shell.",
        f"{_FORMS}:ProposeCommandParameters",
        _call_propose_command,
        destructive=True,
    ),
    Tool(
        "handoff",
        "Propose that another agent or role continues from here, in the same worktree, once you have ended and all "
        "your proposals are answered.",
        f"{_FORMS}:HandoffParameters",
        _call_propose_handoff,
    ),
    Tool(
        "ask",
        "Ask a person. Until there is an answer, continue with other work and check again with wait.",
        f"{_FORMS}:RunAskParameters",
        _call_ask_person,
    ),
    Tool(
        "blocked",
        "Say that you cannot do your step, and what exactly is missing. Undo what you changed for it, call this, and "
        "end: others find out, change the plan or answer, and you are started again.",
        f"{_FORMS}:ReportBlockParameters",
        _call_report_block,
    ),
    Tool(
        "read",
        "Read lines of a file with secrets hidden; a path that ends in /, or none, lists files.",
        f"{_FORMS}:RunReadParameters",
        _call_read_file,
        reads_only=True,
    ),
    Tool(
        "search", GATEWAY["repo.search"].words, GATEWAY["repo.search"].parameters, _call_search_files, reads_only=True
    ),
    Tool("diff", GATEWAY["git.diff"].words, GATEWAY["git.diff"].parameters, _call_show_diff, reads_only=True),
    Tool(
        "status",
        "Return the state of your proposals and questions.",
        f"{_FORMS}:RunStatusParameters",
        _call_run_status,
        reads_only=True,
    ),
    Tool(
        "wait",
        "Wait until a person has answered.",
        f"{_FORMS}:RunWaitParameters",
        _call_wait_for,
        reads_only=True,
    ),
)

TOOLS: dict[str, Tool[OpenRun]] = {tool.name: tool for tool in _ALL}
_COMMON = {
    "summary": "What it is for. Shown to the approver, and not trusted.",
    "wait": f"How many seconds to wait for an answer, at most {MOST_PATIENCE}.",
}


def project_run_tools(run: OpenRun) -> dict[str, Tool[OpenRun]]:
    """Return the project's own tools, by the names PACK_TOOL: not every client takes a dot. Raises: Invalid."""
    found: dict[str, Tool[OpenRun]] = {}
    for name, tool in read_project_packs(run.state).offered.items():
        plain = name.replace(".", "_")
        found[plain] = make_tool_row(plain, tool, _COMMON, partial(_call_project_tool, name, tool))
    return {name: tool for name, tool in found.items() if name not in TOOLS}


def _call_project_tool(name: str, tool: PackTool, run: OpenRun, given: Mapping[str, Any]) -> dict[str, Any]:
    """Propose the command of a tool: judged, shown and executed like any other."""
    summary = summary_of_call(name, tool, given.get("summary", ""))
    how = {
        "cwd": tool.cwd,
        "seconds": tool.seconds,
        "network": tool.network,
        "reads": tool.reads,
        "writes": tool.writes,
    }
    return action_or_question_state(run, ask.propose_command(run, argv_for_call(tool, given), summary, how))


def call_run_tool(run: OpenRun, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool as an agent does. Raises: NexusError."""
    tool = TOOLS.get(name)
    if tool is None:
        own = project_run_tools(run)
        if name not in own:
            raise NotFound(f"there is no tool {one_line(name, 40)!r}", hint=f"there are: {', '.join((*TOOLS, *own))}")
        tool = own[name]
    last = run.log.last()
    if last is not None and last.seq > MOST_EVENTS:
        raise Busy(f"the log of {run.record.id} is full", hint="end here; a person can begin another run")
    try:
        return tool.run(run, check_parameters(tool, given))
    except (Invalid, Conflict, DeniedByPolicy) as exc:
        if not tool.reads_only:
            # Not an action, so it has no name; but the attempt is logged.
            why = shorten_text(mask(exc.message, known_secret_values()), 1000)
            body = {"action": name, "why": why, "error": exc.name}
            run.log.append("action.rejected", GATE, body | ({"node": run.caller} if run.caller else {}))
        raise


def action_or_question_state(run: OpenRun, name: str) -> dict[str, Any]:
    """Return the state of an action or question for the agent. Raises: NotFound."""
    view = run.view()
    one = view.actions.get(name)
    if one is not None:
        return {**_action_summary(name, one), **_action_result(run, name)}
    if name in view.questions:
        return {"question": name, "status": "waiting"}
    for event in run.log.read():
        if event.kind == "question.answered" and event.body["question"] == name:
            return {"question": name, "status": "answered", "answer": event.body["text"]}
    raise NotFound(f"there is no action and no question {one_line(name, 40)!r}", hint="status without an id lists them")


def _action_summary(name: str, one: ActionView) -> dict[str, Any]:
    found: dict[str, Any] = {"action": name, "kind": one.kind, "status": one.status, "summary": one.summary}
    for key, value in (("why", one.why), ("commit", one.commit)):
        if value:
            found[key] = value
    return found


def _action_result(run: OpenRun, action: str) -> dict[str, Any]:
    """Return the gate's reason, and a command's result with the end of its output."""
    found: dict[str, Any] = {}
    for event in run.events():
        if event.kind == "action.proposed" and event.body.get("replaces") == action:
            found["why"] = f"{event.body['action']} replaces it"
        if event.body.get("action") != action:
            continue
        if event.kind == "action.judged" and event.body["verdict"] != "allow":
            found |= {"rule": event.body["rule"], "why": event.body["why"]}
        elif event.kind in ("permission.denied", "action.rejected"):
            found["why"] = event.body.get("why", "")
        elif event.kind == "tool.executed":
            found.pop("why", None)
            found.pop("rule", None)
            found["ok"] = event.body["ok"]
            for of in event.body.get("artifacts", ())[:1]:
                whole = json.loads(run.artifacts.read(of))
                output = whole.pop("output", "")
                found |= {"exit": whole.get("status"), "output": output[-_OUTPUT:]}
                if len(output) > _OUTPUT or whole.get("cut"):
                    found["cut"] = max(0, len(output) - _OUTPUT) + whole.get("cut", 0)
    return found
