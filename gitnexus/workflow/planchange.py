"""Applies a planner's changes to a plan: returns the new plan, or the reason why it is invalid. Pure."""

from collections.abc import Collection, Sequence

from gitnexus.base.errors import Invalid
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Plan, PlanChanges, PlanStep, StepChange

MOST_STEPS = 1000


def apply_plan_changes(plan: Plan, changes: PlanChanges, done: Collection[str] = ()) -> Plan:
    """Return the plan with all changes applied in order. Steps in `done` stay unchanged.

    Dependents of a split step wait for all of its parts; dependents of a removed step wait for its dependencies.
    Raises: Invalid, worded for the author of the changes.
    """
    steps = list(plan.steps)
    for change in changes.changes:
        _refuse_done_step(change, done)
        steps = _apply_step_change(steps, change)
    found = plan.changed(steps=tuple(steps))
    if len(steps) > MOST_STEPS:
        raise Invalid(f"the plan would have more than {MOST_STEPS} steps")
    answer = function_named("MakePlan").answer(found.plain())
    _refuse_late_dependencies(steps)
    assert isinstance(answer, Plan)  # noqa: S101 - which is what MakePlan answers with
    return answer


def steps_after_failed(steps: Sequence[PlanStep], failed: Collection[str]) -> frozenset[str]:
    """Return the steps that cannot be done, because a step they depend on failed."""
    found = set(failed)
    for _ in steps:
        more = {step.id for step in steps if step.id not in found and found.intersection(step.depends)}
        if not more:
            break
        found |= more
    return frozenset(found - set(failed))


def _refuse_done_step(change: StepChange, done: Collection[str]) -> None:
    if change.op != "add" and change.step in done:
        raise Invalid(f"the step {change.step[:40]} is done already and cannot be changed", hint="add a step after it")


def _apply_step_change(steps: list[PlanStep], change: StepChange) -> list[PlanStep]:
    at = next((place for place, step in enumerate(steps) if step.id == change.step), None)
    if at is None:
        if change.op == "add" and not change.step:
            return [*change.steps, *steps]
        raise Invalid(f"there is no step {change.step[:40]!r} to {change.op}", hint="name a step of the plan")
    if change.op == "add":
        return [*steps[: at + 1], *change.steps, *steps[at + 1 :]]
    old = steps[at]
    new = [step if step.depends else step.changed(depends=old.depends) for step in change.steps]
    # Parts of one step wait for each other only if they say so.
    instead = tuple(step.id for step in new) or old.depends
    rest = [_with_new_dependency(step, old.id, instead) for step in steps[:at] + steps[at + 1 :]]
    return [*rest[:at], *new, *rest[at:]]


def _with_new_dependency(step: PlanStep, old: str, instead: Sequence[str]) -> PlanStep:
    if old not in step.depends:
        return step
    named = [one for dep in step.depends for one in (instead if dep == old else (dep,))]
    return step.changed(depends=tuple(dict.fromkeys(one for one in named if one != step.id)))


def _refuse_late_dependencies(steps: Sequence[PlanStep]) -> None:
    """Reject a step that depends on a later one: a plan is carried out in its order."""
    before: set[str] = set()
    known = {step.id for step in steps}
    for step in steps:
        late = [one for one in step.depends if one in known and one not in before]
        if late:
            raise Invalid(f"the step {step.id[:40]} depends on {late[0][:40]}, which comes after it")
        before.add(step.id)
