"""Checks that the steps of a plan can be carried out in their order: each after all that it depends on. Pure."""

from collections.abc import Sequence

from gitnexus.prompts.model import PlanStep


def why_order_is_wrong(steps: Sequence[PlanStep]) -> str:
    """Return what is wrong with the order of a plan, worded for its author; empty if it can be carried out so.

    A step depends only on steps of the plan that come before it. A cycle is named as one.
    """
    known = {step.id for step in steps}
    before: set[str] = set()
    late: tuple[str, str] | None = None
    for step in steps:
        for one in step.depends:
            if one not in known:
                return f"the answer: the step {step.id[:40]} depends on {one[:40]!r}, which is not a step of the plan"
            if one not in before and late is None:
                late = (step.id, one)
        before.add(step.id)
    if late is None:
        return ""
    if cycle := _find_cycle(steps):
        return f"the answer: steps wait for each other in a circle: {' → '.join(one[:40] for one in cycle)}"
    return f"the answer: the step {late[0][:40]} depends on {late[1][:40]}, which comes after it"


def _find_cycle(steps: Sequence[PlanStep]) -> list[str]:
    """Return the ids along a circle of dependencies, the first one again at the end; empty if there is none."""
    left = {step.id: set(step.depends) for step in steps}
    while free := [id_ for id_, waits in left.items() if not waits]:
        for id_ in free:
            del left[id_]
        for waits in left.values():
            waits.difference_update(free)
    if not left:
        return []
    path = [next(iter(left))]
    while (after := min(left[path[-1]])) not in path:
        path.append(after)
    return [*path[path.index(after) :], after]
