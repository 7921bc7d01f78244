"""A node of a workflow that an agent's program works on: in the worktree as in any run, or by an answer in a form."""

import threading

from gitnexus.adapters.protocol import Ended
from gitnexus.adapters.table import ADAPTERS
from gitnexus.app.purse import purse
from gitnexus.app.runagent import Duty, Show, goes_on, worked
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import anew
from gitnexus.app.runsetup import prepared
from gitnexus.base.errors import Failed
from gitnexus.events.kinds import short
from gitnexus.git.ondisk import worktree_tree
from gitnexus.git.private import private
from gitnexus.policy.model import Network
from gitnexus.prompts.model import ExecResult
from gitnexus.runs.definition import Node
from gitnexus.workflow.briefing import answer_in, blocked_said, briefed, sent_to_work, told
from gitnexus.workflow.definition import LOOKS_ONLY
from gitnexus.workflow.specialist import GaveUp, Order, Returned, Unfit, Usage

_LONGEST_SUMMARY = 20_000
# Programs that only look share the worktree; the first of them makes it ready for all.
_ready = threading.Lock()


def worked_on(desk: RunDesk, order: Order, show: Show, network: Network | None) -> Returned:
    """Let an agent edit the run's worktree; what it changed there is proposed by who called. Raises: NexusError."""
    is_command = order.node.type == "command"
    ended = _ended(desk, order, told(order) if is_command else sent_to_work(order), show, network)
    if not ended.ok:
        raise GaveUp(_why(order, ended), _usage(ended))
    if not is_command and (blocked := blocked_said(ended.message)) is not None:
        result = ExecResult(status="blocked", summary=short(blocked.question, _LONGEST_SUMMARY), blocked=blocked)
        return Returned(output=result, usage=_usage(ended))
    said = short(ended.message, _LONGEST_SUMMARY)
    result = ExecResult(status="done", summary=said or f"{order.node.adapter or 'the command'} ended well")
    return Returned(output=result, usage=_usage(ended))


def by_agent(desk: RunDesk, order: Order, show: Show, network: Network | None) -> Returned:
    """Let an agent that changes nothing answer in a node's form. Raises: Unfit, NexusError."""
    ended = _ended(desk, order, briefed(order), show, network)
    if not ended.ok:
        raise GaveUp(_why(order, ended), _usage(ended))
    try:
        output = answer_in(order, ended.message)
    except Unfit as exc:
        exc.usage = _usage(ended)
        raise
    return Returned(output=output, usage=_usage(ended))


def _ended(desk: RunDesk, order: Order, prompt: str, show: Show, network: Network | None) -> Ended:
    one = order.node
    node = Node(
        id=one.id,
        adapter="command" if one.type == "command" else one.adapter,
        role=one.role,
        prompt=prompt,
        argv=one.argv,
        # Who only looks cannot edit, whatever a definition says, where its program can be held to that.
        way="proposer" if one.type in LOOKS_ONLY and "proposer" in ADAPTERS[one.adapter].ways else one.way,
        model=one.model,
    )
    definition = desk.definition()
    if order.deadline is not None:
        seconds = max(1, int(order.seconds_left() or 1))
        definition = definition.changed(budgets=definition.budgets.changed(seconds=seconds))
    with _ready:
        _made_ready(desk, order, node, show, network)
    return worked(desk, definition, node, show, network, _duty(desk, one.role), (purse(one.budget),))


def _duty(desk: RunDesk, role: str) -> Duty:
    """Return what a role of the catalog is told and may not do; a name that it does not know is only a name."""
    if not role:
        return Duty()
    from gitnexus.catalog import open_catalog  # reads YAML: only who names a role pays
    from gitnexus.catalog.effective import effective

    opened = open_catalog(desk.state.snapshot, desk.repo.place, desk.state.trusts)
    catalog = opened.catalog
    if role not in catalog.agents:
        return Duty()
    held = effective(catalog, role, opened.added)
    classes = [name for one in held for name in catalog.capability(one).blocks_semantic_classes]
    return Duty(catalog.body(f"agents/{role}"), tuple(dict.fromkeys(classes)))


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
    said = short(ended.message, _LONGEST_SUMMARY)
    return f"{name} {ended.reason}: {said}" if said else f"{name} {ended.reason}"
