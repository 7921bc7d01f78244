"""Batches: steps of a plan in their order, as many as fit; and what to ask of the planner where one does not. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitnexus.base.record import Record
from gitnexus.workflow.budget import Cost, Plan, PlanStep, Weights, cost_of, touched
from gitnexus.workflow.definition import WorkflowBudgets


class Limits(NamedTuple):
    """What one batch may take; 0 is no limit."""

    cu: int = 40
    steps: int = 8
    ctx_kib: int = 160
    risk: int = 6


class Batch(Record):
    """Steps that run together, and what they take in all."""

    steps: tuple[str, ...]
    cu: int
    ctx_kib: int
    risk: int


class Over(Record):
    """One limit that a step breaks by itself."""

    limit: str
    has: int
    may: int


class SplitRequest(Record):
    """What the planner is asked: a change of the plan that makes smaller steps of one. It runs once that is approved.

    `parts` is a proposal, files in groups that would fit; empty where files are not what makes the step too big.
    """

    plan: str
    step: str
    over: tuple[Over, ...]
    why: str
    parts: tuple[tuple[str, ...], ...] = ()


class Packed(Record):
    """What can run now, batch by batch, what must be split, and which steps wait for that."""

    batches: tuple[Batch, ...]
    splits: tuple[SplitRequest, ...] = ()
    held: tuple[str, ...] = ()


def limits_of(budgets: WorkflowBudgets) -> Limits:
    """Return the limits of a batch in the budgets of a workflow."""
    return Limits(budgets.max_batch_cu, budgets.max_batch_steps, budgets.max_ctx_kib, budgets.max_batch_risk)


def packed(plan: Plan, sizes: Mapping[str, int], weights: Weights, limits: Limits) -> Packed:
    """Return the batches of a plan. What comes after a step that is too big waits: the order of a plan is kept."""
    costs = [cost_of(step, sizes, weights) for step in plan.steps]
    oversized = [at for at, cost in enumerate(costs) if over(cost, limits)]
    until = oversized[0] if oversized else len(costs)
    splits = tuple(_split(plan, plan.steps[at], costs[at], sizes, weights, limits) for at in oversized)
    return Packed(
        batches=batched(costs[:until], limits), splits=splits, held=tuple(cost.step for cost in costs[until:])
    )


def patched(plan: Plan, splits: Sequence[SplitRequest]) -> Plan:
    """Return the plan with each step split as proposed: a step for each part, with its commands, risk and questions.

    It is a proposal: a person or the planner may cut otherwise. Steps without parts stay.
    """
    parts = {split.step: split.parts for split in splits if split.parts}
    taken = {step.id for step in plan.steps}
    steps: list[PlanStep] = []
    for step in plan.steps:
        for at, files in enumerate(parts.get(step.id, ()), 1):
            id_ = f"{step.id}.{at}"
            while id_ in taken:
                id_ += "x"
            taken.add(id_)
            steps.append(step.changed(id=id_, files=files))
        steps += [] if step.id in parts else [step]
    return plan.changed(steps=tuple(steps))


def batched(costs: Sequence[Cost], limits: Limits) -> tuple[Batch, ...]:
    """Return the costs in batches: each takes the next step as long as that breaks no limit."""
    found: list[list[Cost]] = []
    for cost in costs:
        if found and _fits([*found[-1], cost], limits):
            found[-1].append(cost)
        else:
            found.append([cost])
    return tuple(
        Batch(
            steps=tuple(one.step for one in group),
            cu=sum(one.cu for one in group),
            ctx_kib=sum(one.ctx_kib for one in group),
            risk=sum(one.counts.risk for one in group),
        )
        for group in found
    )


def over(cost: Cost, limits: Limits) -> tuple[Over, ...]:
    """Return the limits that a step breaks even alone."""
    rows = (
        ("cu", cost.cu, limits.cu),
        ("ctxKib", cost.ctx_kib, limits.ctx_kib),
        ("risk", cost.counts.risk, limits.risk),
    )
    return tuple(Over(limit=name, has=has, may=may) for name, has, may in rows if may and has > may)


def _fits(group: Sequence[Cost], limits: Limits) -> bool:
    sums = (
        sum(one.cu for one in group),
        len(group),
        sum(one.ctx_kib for one in group),
        sum(one.counts.risk for one in group),
    )
    return all(not may or has <= may for has, may in zip(sums, limits, strict=True))


def _split(
    plan: Plan, step: PlanStep, cost: Cost, sizes: Mapping[str, int], weights: Weights, limits: Limits
) -> SplitRequest:
    broken = over(cost, limits)
    said = ", ".join(f"{one.has} {_UNITS[one.limit]} of {one.may}" for one in broken)
    return SplitRequest(
        plan=plan.id,
        step=step.id,
        over=broken,
        why=f"{step.id} takes {said}; split it into steps that fit",
        parts=_parts(step, sizes, weights, limits),
    )


def _parts(step: PlanStep, sizes: Mapping[str, int], weights: Weights, limits: Limits) -> tuple[tuple[str, ...], ...]:
    """Return the files of a step in groups, folder by folder, each with the step's commands and risk within limits."""
    files = sorted(touched(step.files, sizes), key=lambda path: (path.rpartition("/")[0], path))
    groups: list[list[str]] = []
    for path in files:
        if groups and _allowed(step, [*groups[-1], path], sizes, weights, limits):
            groups[-1].append(path)
        else:
            groups.append([path])
    helps = len(groups) > 1 and all(_allowed(step, group, sizes, weights, limits) for group in groups)
    return tuple(map(tuple, groups)) if helps else ()


def _allowed(step: PlanStep, files: Sequence[str], sizes: Mapping[str, int], weights: Weights, limits: Limits) -> bool:
    return not over(cost_of(step.changed(files=tuple(files)), sizes, weights), limits)


_UNITS = {"cu": "complexity units", "ctxKib": "KiB of context", "risk": "risk"}
