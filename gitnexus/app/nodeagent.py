"""A node of a workflow that an agent's program works on: in the worktree as in any run, or by an answer in a form."""

import json
import threading

from gitnexus.adapters.protocol import Ended
from gitnexus.app.runagent import Show, goes_on, worked
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import anew
from gitnexus.app.runsetup import prepared
from gitnexus.base.canonical import document
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.fence import mark_for
from gitnexus.base.text import one_line, visible
from gitnexus.git.ondisk import worktree_tree
from gitnexus.git.private import private
from gitnexus.policy.model import Network
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Blocked, ExecResult
from gitnexus.prompts.schema import schema_of
from gitnexus.runs.definition import Node
from gitnexus.workflow.definition import OUTPUTS
from gitnexus.workflow.specialist import FUNCTIONS, Order, Output, Returned, Unfit, Usage

_FORMS = "Answer with one JSON object and nothing else, of this form (JSON Schema):"
_BLOCKED = (
    'If you cannot do it, answer {"kind": "needs_research", "question": "…"} instead; kind may also be '
    "needs_plan_patch or needs_user_input, and suggested_ctx may list files that might help."
)
# Programs that only look share the worktree; the first of them makes it ready for all.
_ready = threading.Lock()


def worked_on(desk: RunDesk, order: Order, show: Show, network: Network | None) -> Returned:
    """Let an agent edit the run's worktree; what it changed there is proposed by who called. Raises: NexusError."""
    ended = _ended(desk, order, _told(order), show, network)
    if not ended.ok:
        raise Failed(_why(order, ended))
    result = ExecResult(status="done", summary=ended.message or f"{order.node.adapter or 'the command'} ended well")
    return Returned(output=result, usage=_usage(ended))


def by_agent(desk: RunDesk, order: Order, show: Show, network: Network | None) -> Returned:
    """Let an agent that changes nothing answer in a node's form. Raises: Unfit, NexusError."""
    function = function_named(FUNCTIONS[order.node.type])
    schema = json.dumps(schema_of(function.output, function.name), ensure_ascii=False)
    parts = [_told(order), _FORMS, schema, _BLOCKED]
    if order.feedback:
        parts.append(f"Your last answer could not be used: {one_line(order.feedback, 800)}. Answer again, whole.")
    ended = _ended(desk, order, "\n\n".join(parts), show, network)
    if not ended.ok:
        raise Failed(_why(order, ended))
    return Returned(output=answer_in(order, ended.message), usage=_usage(ended))


def answer_in(order: Order, said: str) -> Output:
    """Return the output in the last message of an agent: JSON, alone or as the last thing in it. Raises: Unfit."""
    value = _json_in(said)
    function = function_named(FUNCTIONS[order.node.type])
    try:
        if isinstance(value, dict) and "kind" in value and "question" in value and function.name != "Research":
            return Blocked.from_value(value, "the answer")
        if isinstance(value, dict) and value.get("kind") in ("needs_user_input", "needs_plan_patch", "needs_research"):
            return Blocked.from_value(value, "the answer")
        found = function.answer(value)
    except Invalid as exc:
        raise Unfit(exc.message) from exc
    assert isinstance(found, Output)  # noqa: S101 - which is what these functions answer with
    return found


def _json_in(said: str) -> object:
    text = said.strip()
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, _ = decoder.raw_decode(text, at)
        except ValueError:
            at = text.find("{", at + 1)
        else:
            return value
    raise Unfit("the answer holds no JSON object")


def _ended(desk: RunDesk, order: Order, prompt: str, show: Show, network: Network | None) -> Ended:
    one = order.node
    node = Node(
        id=one.id,
        adapter="command" if one.type == "command" else one.adapter,
        role=one.role,
        prompt=prompt,
        argv=one.argv,
        way=one.way,
        model=one.model,
    )
    definition = desk.definition()
    if order.deadline is not None:
        seconds = max(1, int(order.seconds_left() or 1))
        definition = definition.changed(budgets=definition.budgets.changed(seconds=seconds))
    with _ready:
        _made_ready(desk, order, node, show, network)
    return worked(desk, definition, node, show, network)


def _made_ready(desk: RunDesk, order: Order, node: Node, show: Show, network: Network | None) -> None:
    """Give an agent that edits the files that are committed: not what one before it left and was denied."""
    if node.way == "contained" and not goes_on(desk, node):
        with private(desk.worktree) as git:
            left = bool(worktree_tree(git, desk.place, tip_of(desk)).changes)
        if left:
            known = desk.view().nodes.get(node.id)
            anew(desk, node.id, known.attempts if known else 0)
    if failed := prepared(desk, desk.definition(), show, network):
        raise Failed(failed)


def _told(order: Order) -> str:
    """Return what an agent is told: the work, then what others gave, between lines that those cannot write."""
    parts = [order.prompt]
    if order.goal and order.goal != order.prompt:
        parts.append(f"This is a part of: {order.goal}")
    if order.step:
        parts.append(f"Do the step {order.step} of the plan, and nothing else of it.")
    given = {f"{OUTPUTS[order.node.type][0]} of {id_}": one for id_, one in order.inputs.items()}
    blocks = [(name, document(one.plain()).decode()) for name, one in given.items()]
    if order.plan is not None:
        blocks.append(("the plan in force", document(order.plan.plain()).decode()))
    if order.blocked is not None:
        blocks.append(("what stands in the way", document(order.blocked.plain()).decode()))
    if order.split is not None:
        blocks.append(("the step that is too big", document(order.split.plain()).decode()))
    blocks += [(f"your question: {one_line(one.question, 200)}", one.answer) for one in order.answers]
    blocks += [("files and documents", order.pack)] if order.pack else []
    return "\n\n".join([*parts, *(_framed(name, text) for name, text in blocks)])


def _framed(name: str, text: str) -> str:
    body = visible(text).strip("\n")
    mark = mark_for([body])
    return f"<<< {mark} {name}\n{body}\n>>> {mark}"


def _usage(ended: Ended) -> Usage:
    cost = int(ended.cost_usd * 1_000_000) if ended.cost_usd is not None else 0
    return Usage(input=ended.tokens_in, output=ended.tokens_out, cost=cost, session=ended.session)


def _why(order: Order, ended: Ended) -> str:
    name = order.node.adapter or order.node.argv[0]
    return f"{name} {ended.reason}: {ended.message}" if ended.message else f"{name} {ended.reason}"
