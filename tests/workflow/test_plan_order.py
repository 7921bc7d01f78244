"""The order of a plan: what can be carried out is taken, a circle, an unknown step or a late one is refused."""

import random
from graphlib import CycleError, TopologicalSorter

import pytest

from gitnexus.prompts.model import Action, ExecResult, Plan, PlanStep
from gitnexus.workflow.definition import NodeInputs, WorkflowDefinition, make_node
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.plan_order import why_order_is_wrong
from tests.workflow.memorystage import MemoryStage


def _steps(*rows: tuple[str, tuple[str, ...]]) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(id=id_, title=id_, depends=depends) for id_, depends in rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((("a", ()), ("b", ("a",)), ("c", ("a", "b"))), ""),
        ((("a", ("b",)), ("b", ())), "the answer: the step a depends on b, which comes after it"),
        ((("a", ()), ("b", ("x",))), "the answer: the step b depends on 'x', which is not a step of the plan"),
        ((("a", ("c",)), ("b", ("a",)), ("c", ("b",))),
         "the answer: steps wait for each other in a circle: a → c → b → a"),
        ((("a", ("a",)),), "the answer: steps wait for each other in a circle: a → a"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_order_is_said_in_one_sentence(
    rows: tuple[tuple[str, tuple[str, ...]], ...], said: str
) -> None:
    assert why_order_is_wrong(_steps(*rows)) == said


def _random_plan(dice: random.Random) -> tuple[PlanStep, ...]:
    ids = [f"S{at}" for at in range(dice.randint(1, 8))]
    rows = []
    for at, id_ in enumerate(ids):
        pool = ids[:at] if dice.random() < 0.9 else [*ids, "other"]
        rows.append((id_, tuple(dice.sample(pool, dice.randint(0, min(3, len(pool)))))))
    return _steps(*rows)


def _is_in_order(steps: tuple[PlanStep, ...]) -> bool:
    """Say by other means whether the given order is a topological one."""
    ids = [step.id for step in steps]
    graph = {step.id: set(step.depends) for step in steps}
    if not set().union(*graph.values()) <= set(ids):
        return False
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError:
        return False
    return all(ids.index(one) < ids.index(id_) for id_, waits in graph.items() for one in waits)


@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_of_many_plans_those_in_topological_order_are_taken_and_no_others(many: int) -> None:
    dice = random.Random(21)
    plans = [_random_plan(dice) for _ in range(many)]

    wrong = [steps for steps in plans if (why_order_is_wrong(steps) == "") != _is_in_order(steps)]

    assert wrong == []
    assert many * 0.2 < sum(map(_is_in_order, plans)) < many * 0.99  # both kinds are there


@pytest.mark.parametrize("many", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_each_step_runs_once_after_what_it_depends_on_and_never_after_a_failure(many: int) -> None:
    dice = random.Random(4)
    plans = [steps for steps in (_random_plan(dice) for _ in range(many)) if not why_order_is_wrong(steps)]
    node = make_node("x", "exec", inputs=NodeInputs(uses=("p",)))
    definition = WorkflowDefinition(
        name="w", prompt="g", nodes=(make_node("p", "plan"), node), edges=(("p", "x"),), stop=("blocked",)
    )
    command = ExecResult(status="done", summary="s", actions=(Action(kind="command", summary="c", argv=("true",)),))
    for steps in plans:
        bad = {step.id for step in steps if dice.random() < 0.15}
        called: list[str] = []

        def play(order: object, called: list[str] = called) -> ExecResult:
            called.append(order.step)  # type: ignore[attr-defined]
            return command

        stage = MemoryStage(
            {"p": [Plan(goal="g", steps=steps)], "x": [play]},
            verdict=lambda node, deed, called=called, bad=bad: "broken" if called[-1] in bad else "allow",  # type: ignore[misc]
        )
        Engine(definition, stage).walk()

        held: set[str] = set()
        for step in steps:
            if held.union(bad).intersection(step.depends):
                held.add(step.id)
        assert called == [step.id for step in steps if step.id not in held]
