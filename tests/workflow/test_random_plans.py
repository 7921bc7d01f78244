"""Random plans that are split, mended and added to while they run: the order holds, nothing is done twice or left out.

What must come out is computed beside the engine: by a topological sorter, and by the changes that the planner makes.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

import pytest

from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanChanges, PlanStep, StepChange
from gitnexus.workflow.definition import NodeInputs, WorkflowBudgets, WorkflowDefinition, make_node
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.specialist import WorkOrder
from tests.workflow.memorystage import MemoryStage

# What the executor finds out about a step when it comes to it.
SPLIT, MEND, ADD, BROKEN, GOOD = "split", "mend", "add", "broken", "good"
DEFINITION = WorkflowDefinition(
    name="w",
    prompt="g",
    nodes=(make_node("p", "plan"), make_node("x", "exec", inputs=NodeInputs(uses=("p",)))),
    edges=(("p", "x"),),
    budgets=WorkflowBudgets(handoffs=50),
    stop=("blocked",),
)


def random_steps(dice: random.Random) -> tuple[PlanStep, ...]:
    """Return steps in a topological order, each titled by what is found out about it."""
    ids = [f"S{at}" for at in range(dice.randint(1, 7))]
    found = []
    for at, id_ in enumerate(ids):
        title = dice.choices((GOOD, SPLIT, MEND, ADD, BROKEN), (10, 2, 2, 2, 2))[0]
        found.append(PlanStep(id=id_, title=title, depends=tuple(dice.sample(ids[:at], dice.randint(0, min(3, at))))))
    return tuple(found)


def changes_for(step: PlanStep) -> PlanChanges:
    """Return what the planner changes about a step that cannot be done as it stands."""
    parts: tuple[PlanStep, ...]
    match step.title:
        case "split":
            first = PlanStep(id=f"{step.id}.1", title=GOOD, depends=step.depends)
            parts = (first, PlanStep(id=f"{step.id}.2", title=GOOD, depends=(first.id,)))
            changes = (StepChange(op="split", step=step.id, why="too big", steps=parts),)
        case "mend":
            parts = (step.changed(title=GOOD),)
            changes = (StepChange(op="replace", step=step.id, why="another way", steps=parts),)
        case _:
            parts = (step.changed(title=GOOD),)
            more = (PlanStep(id=f"{step.id}+", title=GOOD, depends=(step.id,)),)
            changes = (
                StepChange(op="replace", step=step.id, why="first", steps=parts),
                StepChange(op="add", step=step.id, why="and then", steps=more),
            )
    return PlanChanges(summary=step.id, changes=changes)


def expected_graph(steps: Sequence[PlanStep]) -> dict[str, set[str]]:
    """Return what each step of the plan waits for once all changes are made."""
    parts = {step.id: {f"{step.id}.1", f"{step.id}.2"} for step in steps if step.title == SPLIT}
    graph: dict[str, set[str]] = {}
    for step in steps:
        waits = {one for name in step.depends for one in parts.get(name, {name})}
        if step.title == SPLIT:
            graph |= {f"{step.id}.1": waits, f"{step.id}.2": {f"{step.id}.1"} | waits}
        else:
            graph[step.id] = waits
        if step.title == ADD:
            graph[f"{step.id}+"] = {step.id}
    return graph


@dataclass
class Mending(MemoryStage):
    """A stage that brings to its end what a kill left half done, as the gate does."""

    def settle(self, action: str) -> None:
        mine = [one for one in self.log if one.body.get("action") == action]
        kinds, of = {one.kind for one in mine}, mine[0].body["digest"]
        rest = [
            EventDraft("action.judged", "gate", {"action": action, "verdict": "allow", "rule": "script", "why": "so"}),
            EventDraft("permission.granted", "gate", {"action": action, "digest": of, "by": "policy", "scope": "once"}),
            EventDraft("tool.intended", "gate", {"action": action, "tool": "t", "digest": of}),
            EventDraft(
                "tool.executed", "gate", {"action": action, "tool": "t", "ok": mine[0].body["summary"] != BROKEN}
            ),
        ]
        self.write([draft for draft in rest if draft.kind not in kinds])


def stage_for(steps: tuple[PlanStep, ...]) -> Mending:
    def execute(order: WorkOrder) -> ExecResult:
        assert order.plan is not None
        step = next(one for one in order.plan.steps if one.id == order.step)
        if step.title in (SPLIT, MEND, ADD):
            blocked = Blocked(kind="needs_plan_patch", question=f"{step.id} cannot be done as it stands")
            return ExecResult(status="blocked", summary="no", blocked=blocked)
        action = Action(kind="command", summary=step.title, argv=("do", step.id))
        return ExecResult(status="done", summary=step.id, actions=(action,))

    def replan(order: WorkOrder) -> PlanChanges:
        assert order.plan is not None
        assert order.blocked is not None
        name = order.blocked.question.partition(" ")[0]
        return changes_for(next(one for one in order.plan.steps if one.id == name))

    return Mending(
        {"p": [Plan(goal="g", steps=steps)], "x": [execute], "plan_patch": [replan]},
        verdict=lambda node, deed: "broken" if deed.summary == BROKEN else "allow",
    )


def ended_steps(stage: MemoryStage) -> list[tuple[str, bool]]:
    """Return the steps that came to an end, in their order, and whether they are done."""
    return [(str(one.body["step"]), bool(one.body["ok"])) for one in stage.log if one.kind == "step.finished"]


def check(steps: tuple[PlanStep, ...], stage: MemoryStage, ok: bool) -> None:
    graph = expected_graph(steps)
    broken = {step.id for step in steps if step.title == BROKEN}
    held: set[str] = set()
    for name in TopologicalSorter(graph).static_order():
        if graph[name] & (broken | held):
            held.add(name)
    ended = ended_steps(stage)
    order = [name for name, _ in ended]

    assert Counter(order) == Counter(graph.keys() - held), "each once, none left out, none after a failure"
    assert all(order.index(before) < order.index(name) for name in order for before in graph[name])
    assert {name for name, done in ended if not done} == broken - held
    ran = [one for one in stage.log if one.kind == "action.proposed" and one.body["actionKind"] == "command"]
    assert len(ran) == len(order), "nothing runs twice"
    assert ok == (not broken)


def test_what_waits_for_a_step_that_is_split_meanwhile_waits_for_its_parts() -> None:
    steps = (PlanStep(id="S0", title=SPLIT), PlanStep(id="S1", title=GOOD, depends=("S0",)))
    stage = stage_for(steps)

    assert Engine(DEFINITION, stage).walk() == (True, "")
    assert ended_steps(stage) == [("S0.1", True), ("S0.2", True), ("S1", True)]
    batches = [(one.body["steps"], one.body.get("why", "")) for one in stage.log if one.kind == "batch.finished"]
    assert batches == [(["S0", "S1"], "the plan was changed"), (["S0.1", "S0.2", "S1"], "")]


@pytest.mark.parametrize("many", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_of_random_plans_with_blocks_and_changes_the_order_holds_and_nothing_is_lost_or_repeated(many: int) -> None:
    dice = random.Random(2121)
    kinds: Counter[str] = Counter()
    for _ in range(many):
        steps = random_steps(dice)
        stage = stage_for(steps)
        verdict = Engine(DEFINITION, stage).walk()
        assert verdict is not None
        check(steps, stage, verdict.ok)
        kinds.update(step.title for step in steps)

    assert set(kinds) == {SPLIT, MEND, ADD, BROKEN, GOOD}


@pytest.mark.parametrize("many", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_at_every_event_and_resumed_a_plan_comes_to_the_same_end(many: int) -> None:
    dice = random.Random(7)
    for _ in range(many):
        steps = random_steps(dice)
        whole = stage_for(steps)
        verdict = Engine(DEFINITION, whole).walk()
        for at in range(1, len(whole.log)):
            stage = stage_for(steps)
            stage.die_after = at
            with pytest.raises(KeyboardInterrupt):
                Engine(DEFINITION, stage).walk()
            stage.die_after = 10**9
            again = Engine(DEFINITION, stage)

            assert again.walk() == verdict
            assert ended_steps(stage) == ended_steps(whole)
            assert again.inputs.plan(DEFINITION.nodes[1]) == Engine(DEFINITION, whole).inputs.plan(DEFINITION.nodes[1])
            check(steps, stage, bool(verdict and verdict.ok))
