"""Decides, while a plan is carried out, which step is next, when a batch begins and ends, and which step is too big."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import Plan
from gitnexus.workflow.budget import parse_counted_plan
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.packing import BatchLimits, SplitRequest, batch_limits
from gitnexus.workflow.progress import BatchState, NodeState

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine

NEXUS = "nexus"


def next_step_in_batch(
    engine: "Engine", node: WorkflowNode, state: NodeState, plan: Plan, todo: Sequence[str]
) -> str | SplitRequest:
    """Return the next step of the current or a new batch, or the split to request for a step that is too big.

    Batches are packed from the remaining steps and the current files, so that a split by an approved plan change
    counts.
    """
    open_ = _open_batch(state)
    if open_ is not None:
        left = [one for one in open_.steps if one in todo]
        if left and left[0] == todo[0]:
            return left[0]
        # A plan that was changed may have steps that come before what is left of the batch.
        engine.write(*batch_finished_events(node.id, state, True, "the plan was changed" if left else ""))
    rest = plan.changed(steps=tuple(step for step in plan.steps if step.id in todo))
    found = engine.stage.packed(parse_counted_plan(rest.plain(), "plan.json"), _limits_of_node(engine, node))
    if not found.batches:
        return found.splits[0]
    batch, name = found.batches[0], f"{node.id}.{len(state.batches) + 1}"
    body = {"batch": name, "node": node.id, "cu": batch.cu, "steps": list(batch.steps), "of": len(found.batches)}
    engine.write(EventDraft("batch.started", NEXUS, body))
    more = f", {len(found.batches) - 1} more after it" if len(found.batches) > 1 else ""
    engine.stage.show(node.id, f"batch {name} ({batch.cu} units): {', '.join(batch.steps)}{more}")
    return batch.steps[0]


def batch_finished_events(node: str, state: NodeState, ok: bool, why: str) -> list[EventDraft]:
    """Return the event for the end of the current batch, empty if there is none."""
    batch = _open_batch(state)
    if batch is None:
        return []
    body = {"batch": batch.id, "node": node, "ok": ok, "cu": batch.cu, "steps": list(batch.steps)}
    return [EventDraft("batch.finished", NEXUS, {**body, "why": shorten_text(why)} if why else body)]


def _open_batch(state: NodeState) -> BatchState | None:
    return next((one for one in state.batches if one.ok is None), None)


def _limits_of_node(engine: "Engine", node: WorkflowNode) -> BatchLimits:
    limits = batch_limits(engine.flow.definition.budgets)
    own = node.budget.cu
    return limits._replace(cu=min(own, limits.cu) if limits.cu else own) if own else limits
