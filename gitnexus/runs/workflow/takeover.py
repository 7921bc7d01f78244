"""Lets the next agent of a role's list do a call when the one before is down: logged, and shown to the user."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.agents import with_agent
from gitnexus.workflow.choosing import is_down_message
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.flow import runs_in_worktree
from gitnexus.workflow.settings import WorkflowSettings
from gitnexus.workflow.specialist import SpecialistGaveUp, UnusableAnswer, WorkOrder, WorkResult


def work_or_take_over(
    run: OpenRun,
    order: WorkOrder,
    settings: WorkflowSettings,
    down: dict[str, str],
    call: Callable[[WorkOrder], WorkResult],
    show: Callable[[str], None],
) -> WorkResult:
    """Return the result of a call, by the next agent of the role's list for as long as one is down.

    `down` holds the agents that were found to be down, with the reason; it grows. Raises: as `call`.
    """
    order = _past_those_down(run, order, settings, down, show)
    while True:
        try:
            return call(order)
        except NexusError as exc:
            agent = order.node.adapter
            if not is_down(exc, agent) or not next_agents(order.node, settings, down):
                raise
            down[agent] = one_line(exc.message.removeprefix(f"{agent} "), 300)
            if isinstance(exc, SpecialistGaveUp) and (exc.usage.input or exc.usage.output or exc.usage.cost):
                body = {"input": exc.usage.input, "output": exc.usage.output, "node": order.node.id}
                run.log.append("agent.spent", agent, {**body, **({"cost": exc.usage.cost} if exc.usage.cost else {})})
            order = _past_those_down(run, order, settings, down, show)


def is_down(exc: NexusError, agent: str) -> bool:
    """Return True if an error says that an agent is not there; what it did wrong, or used up, is no such error."""
    if isinstance(exc, UnusableAnswer):
        return exc.message.startswith("the model") and is_down_message(exc.message)
    return not exc.message.startswith((f"{agent} limit", f"{agent} killed")) and is_down_message(exc.message)


def next_agents(node: WorkflowNode, settings: WorkflowSettings, down: dict[str, str]) -> Sequence[str]:
    """Return the agents of a role's list that can go on with a node: not down, and they work in the same way.

    Who edits files in the worktree is only followed by somebody who does so, too: the step is judged by that.
    """
    names = [one.agent for one in settings.lists.get(node.specialist, ())]
    if node.adapter not in names:
        return ()  # named by the user or the workflow: nobody else is meant
    same = runs_in_worktree(node)
    return [
        name
        for name in names
        if name != node.adapter and name not in down and runs_in_worktree(node.changed(adapter=name)) == same
    ]


def _past_those_down(
    run: OpenRun, order: WorkOrder, settings: WorkflowSettings, down: dict[str, str], show: Callable[[str], None]
) -> WorkOrder:
    """Return the order for the next agent that is not known to be down; the log says who takes over."""
    before = order.node.adapter
    if before not in down:
        return order
    names = next_agents(order.node, settings, down)
    if not names:
        return order
    node = with_agent(order.node, names[0])
    known = run.view().nodes.get(node.id)
    text = f"{node.id}: {before} is down ({down[before]}), so {node.adapter} takes over"
    run.log.append("agent.progress", "nexus", {"text": shorten_text(text), "node": node.id})
    body: dict[str, Any] = {
        "node": node.id,
        "agent": node.role or node.specialist,
        "adapter": node.adapter,
        "op": node.type,
        "attempt": (known.attempts if known else 0) + 1,
    }
    if known is None or known.adapter != node.adapter:  # else it took over at an earlier step of this node
        run.log.append("node.started", "nexus", body)
    show(text)
    took_over_before = known is not None and known.adapter == node.adapter
    return replace(order, node=node, session=order.session if took_over_before else "")
