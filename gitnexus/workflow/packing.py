"""Groups the steps of a plan into batches within limits, and requests a split of steps that are too big. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitnexus.base.document import Document, Many
from gitnexus.workflow.budget import CostWeights, CountedPlan, CountedStep, StepCost, cost_of_step, files_matching
from gitnexus.workflow.definition import WorkflowBudgets


class BatchLimits(NamedTuple):
    """The limits of one batch; 0 is no limit."""

    cu: int = 40
    steps: int = 8
    ctx_kib: int = 160
    risk: int = 6


class PackedBatch(Document):
    """Steps that run together, and their total cost."""

    steps: Many[str]
    cu: int
    ctx_kib: int
    risk: int


class BrokenLimit(Document):
    """One limit that a step exceeds by itself."""

    limit: str
    has: int
    may: int


class SplitRequest(Document):
    """A request to the planner to split one step; the step runs once that change is approved.

    `parts` is a proposal of file groups that would fit; empty if the files are not the reason.
    """

    plan: str
    step: str
    over: Many[BrokenLimit]
    why: str
    parts: Many[Many[str]] = ()


class PackedPlan(Document):
    """The batches that can run now, the steps that must be split, and the steps that wait for that."""

    batches: Many[PackedBatch]
    splits: Many[SplitRequest] = ()
    held: Many[str] = ()


def batch_limits(budgets: WorkflowBudgets) -> BatchLimits:
    """Return the limits of a batch from the budgets of a workflow."""
    return BatchLimits(budgets.max_batch_cu, budgets.max_batch_steps, budgets.max_ctx_kib, budgets.max_batch_risk)


def pack_plan(plan: CountedPlan, sizes: Mapping[str, int], weights: CostWeights, limits: BatchLimits) -> PackedPlan:
    """Return the batches of a plan. Steps after one that is too big wait, because the order of a plan is kept."""
    costs = [cost_of_step(step, sizes, weights) for step in plan.steps]
    oversized = [at for at, cost in enumerate(costs) if limits_broken_by(cost, limits)]
    until = oversized[0] if oversized else len(costs)
    splits = tuple(_split_request(plan, plan.steps[at], costs[at], sizes, weights, limits) for at in oversized)
    return PackedPlan(
        batches=group_into_batches(costs[:until], limits),
        splits=splits,
        held=tuple(cost.step for cost in costs[until:]),
    )


def plan_with_splits(plan: CountedPlan, splits: Sequence[SplitRequest]) -> CountedPlan:
    """Return the plan with each step split as proposed: one step per part, with its commands, risk and questions.

    It is a proposal: a user or the planner may split differently. Steps without parts are unchanged.
    """
    parts = {split.step: split.parts for split in splits if split.parts}
    taken = {step.id for step in plan.steps}
    steps: list[CountedStep] = []
    for step in plan.steps:
        for at, files in enumerate(parts.get(step.id, ()), 1):
            id_ = f"{step.id}.{at}"
            while id_ in taken:
                id_ += "x"
            taken.add(id_)
            steps.append(step.changed(id=id_, files=files))
        steps += [] if step.id in parts else [step]
    return plan.changed(steps=tuple(steps))


def group_into_batches(costs: Sequence[StepCost], limits: BatchLimits) -> tuple[PackedBatch, ...]:
    """Return the costs in batches: each takes the next step as long as no limit is exceeded."""
    found: list[list[StepCost]] = []
    for cost in costs:
        if found and _fits_limits([*found[-1], cost], limits):
            found[-1].append(cost)
        else:
            found.append([cost])
    return tuple(
        PackedBatch(
            steps=tuple(one.step for one in group),
            cu=sum(one.cu for one in group),
            ctx_kib=sum(one.ctx_kib for one in group),
            risk=sum(one.counts.risk for one in group),
        )
        for group in found
    )


def limits_broken_by(cost: StepCost, limits: BatchLimits) -> tuple[BrokenLimit, ...]:
    """Return the limits that a step exceeds by itself."""
    rows = (
        ("cu", cost.cu, limits.cu),
        ("ctxKib", cost.ctx_kib, limits.ctx_kib),
        ("risk", cost.counts.risk, limits.risk),
    )
    return tuple(BrokenLimit(limit=name, has=has, may=may) for name, has, may in rows if may and has > may)


def _fits_limits(group: Sequence[StepCost], limits: BatchLimits) -> bool:
    sums = (
        sum(one.cu for one in group),
        len(group),
        sum(one.ctx_kib for one in group),
        sum(one.counts.risk for one in group),
    )
    return all(not may or has <= may for has, may in zip(sums, limits, strict=True))


def _split_request(
    plan: CountedPlan,
    step: CountedStep,
    cost: StepCost,
    sizes: Mapping[str, int],
    weights: CostWeights,
    limits: BatchLimits,
) -> SplitRequest:
    broken = limits_broken_by(cost, limits)
    said = ", ".join(f"{one.has} {_UNITS[one.limit]} of {one.may}" for one in broken)
    return SplitRequest(
        plan=plan.id,
        step=step.id,
        over=broken,
        why=f"{step.id} takes {said}; split it into steps that fit",
        parts=_files_in_groups(step, sizes, weights, limits),
    )


def _files_in_groups(
    step: CountedStep, sizes: Mapping[str, int], weights: CostWeights, limits: BatchLimits
) -> tuple[tuple[str, ...], ...]:
    """Return the files of a step in groups by folder, each within the limits with the step's commands and risk."""
    files = sorted(files_matching(step.files, sizes), key=lambda path: (path.rpartition("/")[0], path))
    groups: list[list[str]] = []
    for path in files:
        if groups and _is_within_limits(step, [*groups[-1], path], sizes, weights, limits):
            groups[-1].append(path)
        else:
            groups.append([path])
    helps = len(groups) > 1 and all(_is_within_limits(step, group, sizes, weights, limits) for group in groups)
    return tuple(map(tuple, groups)) if helps else ()


def _is_within_limits(
    step: CountedStep, files: Sequence[str], sizes: Mapping[str, int], weights: CostWeights, limits: BatchLimits
) -> bool:
    return not limits_broken_by(cost_of_step(step.changed(files=tuple(files)), sizes, weights), limits)


_UNITS = {"cu": "complexity units", "ctxKib": "KiB of context", "risk": "risk"}
