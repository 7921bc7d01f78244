"""Runs an agent's program for a workflow node: it edits the worktree, or answers with typed data."""

import threading
from dataclasses import replace

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed
from gitnexus.events.kinds import shorten_text
from gitnexus.git.private import private_git
from gitnexus.git.worktree_tree import write_worktree_tree
from gitnexus.policy.model import Network
from gitnexus.prompts.model import Blocked, ExecResult
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.agent.budget import limit_from_budget
from gitnexus.runs.agent.run import RoleBrief, Show, node_private_folder, run_agent
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.prepare import prepare_worktree
from gitnexus.runs.worktree import reset_worktree_for_retry
from gitnexus.workflow.briefing import (
    brief_for_answer,
    brief_for_editing,
    describe_work,
    parse_agent_answer,
    parse_blocked_message,
)
from gitnexus.workflow.definition import LOOKS_ONLY
from gitnexus.workflow.outputs import REPORT
from gitnexus.workflow.run_definition import RunNode
from gitnexus.workflow.specialist import CallUsage, SpecialistGaveUp, UnusableAnswer, WorkOrder, WorkResult

_LONGEST_SUMMARY = 20_000
# Programs that only read share the worktree; the first prepares it for all.
_ready = threading.Lock()


def run_agent_node(run: OpenRun, order: WorkOrder, show: Show, network: Network | None) -> WorkResult:
    """Run an agent that edits the worktree; the caller proposes its changes. Raises: UnusableAnswer, NexusError."""
    is_command = order.node.type == "command"
    order = order if _resumes(run, order) else replace(order, session="")
    before = run.log.last()
    ended = _run_node_agent(run, order, describe_work(order) if is_command else brief_for_editing(order), show, network)
    if not ended.ok:
        raise SpecialistGaveUp(_describe_failed_end(order, ended), _usage_from_end(ended))
    blocked = None if is_command else _reported_block(run, order, ended, before.seq if before else 0)
    if blocked is not None:
        result = ExecResult(status="blocked", summary=shorten_text(blocked.question, _LONGEST_SUMMARY), blocked=blocked)
        return WorkResult(output=result, usage=_usage_from_end(ended))
    said = shorten_text(ended.message, _LONGEST_SUMMARY)
    result = ExecResult(status="done", summary=said or f"{order.node.adapter or 'the command'} ended well")
    return WorkResult(output=result, usage=_usage_from_end(ended))


def _resumes(run: OpenRun, order: WorkOrder) -> bool:
    """Return True if the program that does a step can take up the session in which it was done before."""
    node = run.definition().nodes
    adapter = ADAPTERS.get(order.node.adapter)
    folder = node_private_folder(run, node, order.node.id)
    return bool(order.session) and adapter is not None and adapter.resumes and folder.is_dir()


def _reported_block(run: OpenRun, order: WorkOrder, ended: AgentEnd, since: int) -> Blocked | None:
    """Return what a program says that it needs, by the tool for that or in its last message; None if nothing.

    Raises: UnusableAnswer for a message that is meant as such a report and has not its form.
    """
    for event in reversed(list(run.log.read())):
        if event.seq <= since:
            break
        body = event.body
        if event.kind == "artifact.written" and body["name"] == REPORT and body.get("node") == order.node.id:
            return Blocked.from_value(parse_json(run.artifacts.read(body["digest"])), REPORT)
    try:
        return parse_blocked_message(ended.message)
    except UnusableAnswer as exc:
        exc.usage = _usage_from_end(ended)
        raise


def answer_by_agent(run: OpenRun, order: WorkOrder, show: Show, network: Network | None) -> WorkResult:
    """Run an agent that changes nothing and answers in the node's output format. Raises: Unfit, NexusError."""
    order = order if _resumes(run, order) else replace(order, session="")
    ended = _run_node_agent(run, order, brief_for_answer(order), show, network)
    if not ended.ok:
        raise SpecialistGaveUp(_describe_failed_end(order, ended), _usage_from_end(ended))
    try:
        output = parse_agent_answer(order, ended.message)
    except UnusableAnswer as exc:
        exc.usage = _usage_from_end(ended)
        raise
    return WorkResult(output=output, usage=_usage_from_end(ended))


def _run_node_agent(run: OpenRun, order: WorkOrder, prompt: str, show: Show, network: Network | None) -> AgentEnd:
    one = order.node
    node = RunNode(
        id=one.id,
        adapter="command" if one.type == "command" else one.adapter,
        role=one.role,
        prompt=prompt,
        argv=one.argv,
        # A reading agent cannot edit, whatever the definition says, if its program supports that restriction.
        way="proposer" if one.type in LOOKS_ONLY and "proposer" in ADAPTERS[one.adapter].ways else one.way,
        model=one.model,
    )
    definition = run.definition()
    if order.deadline is not None:
        seconds = max(1, int(order.seconds_left() or 1))
        definition = definition.changed(budgets=definition.budgets.changed(seconds=seconds))
    with _ready:
        _reset_worktree_for_editor(run, order, node, show, network)
    limits = (limit_from_budget(one.budget),)
    return run_agent(run, definition, node, show, network, _brief_of_role(run, one.role), limits, order.session)


def _brief_of_role(run: OpenRun, role: str) -> RoleBrief:
    """Return the instructions and restrictions of a catalog role; an unknown role has none."""
    if not role:
        return RoleBrief()
    from gitnexus.catalog import open_catalog  # imports YAML: only needed with a role
    from gitnexus.catalog.effective import effective_capabilities

    opened = open_catalog(run.state.snapshot, run.repo.folder, run.state.trusts)
    catalog = opened.catalog
    if role not in catalog.agents:
        return RoleBrief()
    held = effective_capabilities(catalog, role, opened.added)
    classes = [name for one in held for name in catalog.capability(one).blocks_semantic_classes]
    return RoleBrief(catalog.body(f"agents/{role}"), tuple(dict.fromkeys(classes)))


def _reset_worktree_for_editor(
    run: OpenRun, order: WorkOrder, node: RunNode, show: Show, network: Network | None
) -> None:
    """Reset the worktree to the last commit for an editing agent, without an earlier agent's denied changes.

    Who goes on in its session finds its files as it left them.
    """
    if node.way == "contained" and not order.session:
        with private_git(run.worktree) as git:
            left = bool(write_worktree_tree(git, run.worktree_path, branch_tip(run)).changes)
        if left:
            known = run.view().nodes.get(node.id)
            reset_worktree_for_retry(run, node.id, known.attempts if known else 0)
    if failed := prepare_worktree(run, run.definition(), show, network):
        raise Failed(failed)


def _usage_from_end(ended: AgentEnd) -> CallUsage:
    cost = int(ended.cost_usd * 1_000_000) if ended.cost_usd is not None else 0
    return CallUsage(input=ended.tokens_in, output=ended.tokens_out, cost=cost, session=ended.session)


def _describe_failed_end(order: WorkOrder, ended: AgentEnd) -> str:
    name = order.node.adapter or order.node.argv[0]
    said = shorten_text(ended.message, _LONGEST_SUMMARY)
    return f"{name} {ended.reason}: {said}" if said else f"{name} {ended.reason}"
