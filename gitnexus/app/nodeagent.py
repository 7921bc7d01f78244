"""A node of a workflow that an agent's program works on: in the worktree as in any run, or by an answer in a form."""

import threading

from gitnexus.adapters.protocol import Ended
from gitnexus.app.runagent import Show, goes_on, worked
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import anew
from gitnexus.app.runsetup import prepared
from gitnexus.base.errors import Failed
from gitnexus.git.ondisk import worktree_tree
from gitnexus.git.private import private
from gitnexus.policy.model import Network
from gitnexus.prompts.model import ExecResult
from gitnexus.runs.definition import Node
from gitnexus.workflow.briefing import answer_in, briefed, told
from gitnexus.workflow.specialist import Order, Returned, Usage

# Programs that only look share the worktree; the first of them makes it ready for all.
_ready = threading.Lock()


def worked_on(desk: RunDesk, order: Order, show: Show, network: Network | None) -> Returned:
    """Let an agent edit the run's worktree; what it changed there is proposed by who called. Raises: NexusError."""
    ended = _ended(desk, order, told(order), show, network)
    if not ended.ok:
        raise Failed(_why(order, ended))
    result = ExecResult(status="done", summary=ended.message or f"{order.node.adapter or 'the command'} ended well")
    return Returned(output=result, usage=_usage(ended))


def by_agent(desk: RunDesk, order: Order, show: Show, network: Network | None) -> Returned:
    """Let an agent that changes nothing answer in a node's form. Raises: Unfit, NexusError."""
    ended = _ended(desk, order, briefed(order), show, network)
    if not ended.ok:
        raise Failed(_why(order, ended))
    return Returned(output=answer_in(order, ended.message), usage=_usage(ended))


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


def _usage(ended: Ended) -> Usage:
    cost = int(ended.cost_usd * 1_000_000) if ended.cost_usd is not None else 0
    return Usage(input=ended.tokens_in, output=ended.tokens_out, cost=cost, session=ended.session)


def _why(order: Order, ended: Ended) -> str:
    name = order.node.adapter or order.node.argv[0]
    return f"{name} {ended.reason}: {ended.message}" if ended.message else f"{name} {ended.reason}"
