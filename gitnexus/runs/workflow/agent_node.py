"""Runs an agent's program for a workflow node: it edits the worktree, or answers with typed data."""

import threading

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Failed
from gitnexus.events.kinds import shorten_text
from gitnexus.git.private import private_git
from gitnexus.git.worktree_tree import write_worktree_tree
from gitnexus.policy.model import Network
from gitnexus.prompts.model import ExecResult
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.agent.budget import limit_from_budget
from gitnexus.runs.agent.run import RoleBrief, Show, resumes_session, run_agent
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
from gitnexus.workflow.run_definition import RunNode
from gitnexus.workflow.specialist import CallUsage, SpecialistGaveUp, UnusableAnswer, WorkOrder, WorkResult

_LONGEST_SUMMARY = 20_000
# Programs that only read share the worktree; the first prepares it for all.
_ready = threading.Lock()


def run_agent_node(run: OpenRun, order: WorkOrder, show: Show, network: Network | None) -> WorkResult:
    """Run an agent that edits the worktree; the caller proposes its changes. Raises: NexusError."""
    is_command = order.node.type == "command"
    ended = _run_node_agent(run, order, describe_work(order) if is_command else brief_for_editing(order), show, network)
    if not ended.ok:
        raise SpecialistGaveUp(_describe_failed_end(order, ended), _usage_from_end(ended))
    if not is_command and (blocked := parse_blocked_message(ended.message)) is not None:
        result = ExecResult(status="blocked", summary=shorten_text(blocked.question, _LONGEST_SUMMARY), blocked=blocked)
        return WorkResult(output=result, usage=_usage_from_end(ended))
    said = shorten_text(ended.message, _LONGEST_SUMMARY)
    result = ExecResult(status="done", summary=said or f"{order.node.adapter or 'the command'} ended well")
    return WorkResult(output=result, usage=_usage_from_end(ended))


def answer_by_agent(run: OpenRun, order: WorkOrder, show: Show, network: Network | None) -> WorkResult:
    """Run an agent that changes nothing and answers in the node's output format. Raises: Unfit, NexusError."""
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
    return run_agent(
        run, definition, node, show, network, _brief_of_role(run, one.role), (limit_from_budget(one.budget),)
    )


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
    """Reset the worktree to the last commit for an editing agent, without an earlier agent's denied changes."""
    if node.way == "contained" and not resumes_session(run, node):
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
