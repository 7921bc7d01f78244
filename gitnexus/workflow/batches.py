"""Batches while a plan is carried out: which step is next, when a batch begins and ends, and which step is too big."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.prompts.model import Plan
from gitnexus.workflow.budget import plan_of
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.packing import Limits, SplitRequest, limits_of
from gitnexus.workflow.progress import Batch, NodeState

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine

NEXUS = "nexus"


def next_in_batch(
    engine: "Engine", node: WorkflowNode, state: NodeState, plan: Plan, todo: Sequence[str]
) -> str | SplitRequest:
    """Return the next step of the batch that is being done, of a new one, or what to ask about one that is too big.

    Batches are made of what is left, counted in the files as they are now: what an approved change of the plan split is
    packed anew.
    """
    open_ = _open(state)
    if open_ is not None:
        left = [one for one in open_.steps if one in todo]
        if left:
            return left[0]
        engine.write(*batch_over(node.id, state, True, ""))
    rest = plan.changed(steps=tuple(step for step in plan.steps if step.id in todo))
    found = engine.stage.packed(plan_of(rest.plain(), "plan.json"), _limits(engine, node))
    if not found.batches:
        return found.splits[0]
    batch, name = found.batches[0], f"{node.id}.{len(state.batches) + 1}"
    body = {"batch": name, "node": node.id, "cu": batch.cu, "steps": list(batch.steps), "of": len(found.batches)}
    engine.write(Draft("batch.started", NEXUS, body))
    more = f", {len(found.batches) - 1} more after it" if len(found.batches) > 1 else ""
    engine.stage.show(node.id, f"batch {name} ({batch.cu} units): {', '.join(batch.steps)}{more}")
    return batch.steps[0]


def batch_over(node: str, state: NodeState, ok: bool, why: str) -> list[Draft]:
    """Return the event for the end of the batch that is being done, none if there is none."""
    batch = _open(state)
    if batch is None:
        return []
    body = {"batch": batch.id, "node": node, "ok": ok, "cu": batch.cu, "steps": list(batch.steps)}
    return [Draft("batch.finished", NEXUS, {**body, "why": short(why)} if why else body)]


def _open(state: NodeState) -> Batch | None:
    return next((one for one in state.batches if one.ok is None), None)


def _limits(engine: "Engine", node: WorkflowNode) -> Limits:
    limits = limits_of(engine.flow.definition.budgets)
    own = node.budget.cu
    return limits._replace(cu=min(own, limits.cu) if limits.cu else own) if own else limits
