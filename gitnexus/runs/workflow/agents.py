"""Chooses the agent of each node whose role has several, by the metrics of the runs before."""

from collections.abc import Callable
from functools import cache

from gitnexus.base.errors import NexusError
from gitnexus.events.measure import MeasuredWork, WorkerTally
from gitnexus.runs.metrics import collect_metrics
from gitnexus.runs.workflow.backend_state import describe_backend
from gitnexus.state import State
from gitnexus.workflow.choosing import AgentChoice, rank_agents
from gitnexus.workflow.definition import NodeType, WorkflowDefinition, WorkflowNode, make_node
from gitnexus.workflow.settings import WorkflowSettings
from gitnexus.workflow.specialist import FUNCTIONS

Work = dict[MeasuredWork, WorkerTally]


def choose_agents(
    state: State, definition: WorkflowDefinition, settings: WorkflowSettings
) -> tuple[WorkflowDefinition, tuple[AgentChoice, ...]]:
    """Return a workflow with an agent for each node that names none and whose role has several, and the reasons.

    The logs are only read if there is such a node. Raises: NexusError.
    """
    open_nodes = [one for one in definition.nodes if is_open_choice(one, settings)]
    if not open_nodes:
        return definition, ()
    work = collect_metrics(state).work
    why_down = _down_check(state)
    found = {}
    for one in open_nodes:
        order, why = rank_for_node(one, definition.prompt, settings, work, why_down(one.type))
        found[one.id] = AgentChoice(node=one.id, agent=order[0], why=why, others=order[1:])
    nodes = (with_agent(one, found[one.id].agent) if one.id in found else one for one in definition.nodes)
    return definition.changed(nodes=tuple(nodes)), tuple(found.values())


def is_open_choice(node: WorkflowNode, settings: WorkflowSettings) -> bool:
    """Return True for a node that names no agent, of a role for which several are set."""
    return not node.adapter and node.type != "command" and node.specialist in settings.lists


def rank_for_node(
    node: WorkflowNode, prompt: str, settings: WorkflowSettings, work: Work, why_down: Callable[[str], str]
) -> tuple[tuple[str, ...], str]:
    """Return the agents set for a node's role, the best first, and the reason."""
    candidates = settings.lists[node.specialist]
    roles = frozenset(filter(None, (node.specialist, node.role)))
    tallies = {one.agent: tally_for_work(work, one.agent, roles, node.type) for one in candidates}
    return rank_agents(candidates, tallies, node.type, node.prompt or prompt, why_down)


def tally_for_work(work: Work, adapter: str, roles: frozenset[str], kind: NodeType) -> WorkerTally:
    """Return what happened with an agent in these roles, at one kind of task.

    A run with an agent and without a workflow counts as a change by that agent.
    """
    found = WorkerTally()
    for who, tally in work.items():
        alone = who.kind == "" and kind == "exec" and who.agent == adapter
        if who.adapter == adapter and (alone or (who.kind == kind and who.agent in roles)):
            found.add(tally)
    return found


def with_agent(node: WorkflowNode, agent: str) -> WorkflowNode:
    """Return a node done by an agent, with the least rights that this agent can work with."""
    return node.changed(adapter=agent, way=make_node(node.id, node.type, adapter=agent).way)


def _down_check(state: State) -> Callable[[NodeType], Callable[[str], str]]:
    @cache
    def why(agent: str, kind: NodeType) -> str:
        try:
            return describe_backend(state, agent, (kind,) if kind in FUNCTIONS else ())[1]
        except NexusError as exc:
            return exc.message

    return lambda kind: lambda agent: why(agent, kind)
