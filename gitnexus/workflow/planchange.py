"""A plan with changes in it: what a planner says becomes a new plan, or the reason why it cannot. Pure."""

from collections.abc import Collection, Sequence

from gitnexus.base.errors import Invalid
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Plan, PlanChanges, PlanStep, StepChange

MOST_STEPS = 1000


def changed_plan(plan: Plan, changes: PlanChanges, done: Collection[str] = ()) -> Plan:
    """Return the plan with all changes, one after the other. Steps that are `done` stay as they were carried out.

    Who waited for a step that was split waits for all of its parts; who waited for one that is gone waits for what that
    waited for. Raises: Invalid, for who proposed it.
    """
    steps = list(plan.steps)
    for change in changes.changes:
        _refuse_done(change, done)
        steps = _changed(steps, change)
    found = plan.changed(steps=tuple(steps))
    if len(steps) > MOST_STEPS:
        raise Invalid(f"the plan would have more than {MOST_STEPS} steps")
    answer = function_named("MakePlan").answer(found.plain())
    _refuse_circles(steps)
    assert isinstance(answer, Plan)  # noqa: S101 - which is what MakePlan answers with
    return answer


def after_failed(steps: Sequence[PlanStep], failed: Collection[str]) -> frozenset[str]:
    """Return the steps that cannot be done, since one that they depend on went wrong."""
    found = set(failed)
    for _ in steps:
        more = {step.id for step in steps if step.id not in found and found.intersection(step.depends)}
        if not more:
            break
        found |= more
    return frozenset(found - set(failed))


def _refuse_done(change: StepChange, done: Collection[str]) -> None:
    if change.op != "add" and change.step in done:
        raise Invalid(f"the step {change.step[:40]} is done already and cannot be changed", hint="add a step after it")


def _changed(steps: list[PlanStep], change: StepChange) -> list[PlanStep]:
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
    rest = [_repointed(step, old.id, instead) for step in steps[:at] + steps[at + 1 :]]
    return [*rest[:at], *new, *rest[at:]]


def _repointed(step: PlanStep, old: str, instead: Sequence[str]) -> PlanStep:
    if old not in step.depends:
        return step
    named = [one for dep in step.depends for one in (instead if dep == old else (dep,))]
    return step.changed(depends=tuple(dict.fromkeys(one for one in named if one != step.id)))


def _refuse_circles(steps: Sequence[PlanStep]) -> None:
    """Refuse a step that depends on one after it: the order of a plan is the order in which it is carried out."""
    before: set[str] = set()
    known = {step.id for step in steps}
    for step in steps:
        late = [one for one in step.depends if one in known and one not in before]
        if late:
            raise Invalid(f"the step {step.id[:40]} depends on {late[0][:40]}, which comes after it")
        before.add(step.id)
