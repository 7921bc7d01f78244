"""Generated workflows end in the state that a model predicts, which knows nothing of the engine."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest

from gitnexus.base.errors import Failed
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanChanges, PlanStep, ResearchBundle, StepChange
from gitnexus.workflow.definition import (
    RETRIES,
    NodeInputs,
    WorkflowBudgets,
    WorkflowDefinition,
    WorkflowNode,
    check_workflow,
    make_node,
)
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.engine_protocol import NodeAction
from gitnexus.workflow.replay import replay_log
from gitnexus.workflow.specialist import Output, UnusableAnswer, WorkOrder
from tests.workflow.memorystage import MemoryStage

CASES = 500
VERDICTS = ("allow",) * 14 + ("deny", "broken", "unfit", "ask+", "ask+", "ask-", "ask?")
# One call of a specialist: it fails, gives so many answers that do not fit, is blocked, or proposes actions.
Call = tuple[str, tuple[str, ...]]


@dataclass
class Case:
    """A workflow and all that will happen in it: the calls of each node in their order; `steps` have a plan."""

    ids: list[str]
    edges: list[tuple[str, str]]
    scripts: dict[str, list[Call]]
    steps: set[str]
    stop: tuple[str, ...]
    parallel: int


def generated(seed: int) -> Case:
    dice = random.Random(seed)
    ids = [f"n{at}" for at in range(dice.randint(1, 7))]
    edges = [("p", one) for one in ids]
    edges += [(a, b) for at, b in enumerate(ids) for a in ids[:at] if dice.random() < 0.3]
    steps = {one for one in ids if dice.random() < 0.4}
    scripts: dict[str, list[Call]] = {"p": [("ok", ())]}
    for one in ids:
        scripts[one] = [call for _ in range(3 if one in steps else 1) for call in _calls(dice, one in steps)]
    stop = tuple(one for one in ("failed", "blocked", "denied", "budget") if dice.random() < 0.6)
    return Case(["p", *ids], edges, scripts, steps, stop, dice.randint(1, 3))


def _calls(dice: random.Random, plan: bool) -> Iterator[Call]:
    """Yield the calls for one step: now and then one or two that are blocked, and then one that is not."""
    for _ in range(dice.choices((0, 1, 2), (12, 2, 1))[0]):
        need = dice.choice(("user", "research", "plan") if plan else ("user", "research"))
        said = dice.choice(("ask+", "ask?") if need == "user" else ("allow", "allow", "deny", "ask+", "ask-", "ask?"))
        yield "blocked", (need, said, dice.choice(("good", "good", "bad")))
    kind = dice.choices(("ok", "fail", "wrong"), (12, 1, 2))[0]
    if kind == "ok":
        yield kind, tuple(dice.choice(VERDICTS) for _ in range(dice.randint(0, 3)))
    else:
        yield kind, (str(dice.randint(1, 4)),)


# ---- the model: it knows the rules of workflows, and nothing of the engine


def life(one: str, case: Case, status: dict[str, str], reasons: list[str]) -> Iterator[str]:  # noqa: C901 - one thought, to be read in one go
    """Yield what a node waits for, time and again: a `call`, a `side` node, or the answer that will be given."""
    for kind, rest in case.scripts[one]:
        yield "call"
        if kind == "fail" or (kind == "wrong" and int(rest[0]) > RETRIES):
            reasons.append("failed")
            return
        if kind == "blocked":
            need, said, end = rest
            status[one] = "blocked"
            if said.startswith("ask"):
                yield said
            if said in ("deny", "ask-"):
                reasons.append("denied")
                return
            for result in {"user": [], "plan": [end], "research": [end, "good"][: 1 + (one in case.steps)]}[need]:
                yield "side"
                if result == "bad":
                    reasons.append("failed")
                    return
            status[one] = "cleared"
            continue
        for said in rest if kind == "ok" else ():
            if said.startswith("ask"):
                yield said
            if said not in ("allow", "ask+"):
                reasons.append("denied" if said in ("deny", "ask-") else "failed")
                if one not in case.steps or reasons[-1] in case.stop:
                    return
                break


def predicted(case: Case) -> tuple[dict[str, str], bool | None]:
    status: dict[str, str] = {}
    reasons: dict[str, list[str]] = {one: [] for one in case.ids}
    lives = {one: life(one, case, status, reasons[one]) for one in case.ids}
    wants = {one: next(lives[one]) for one in case.ids}
    running: list[str] = []
    while True:
        over = ["denied" if {*reasons[one]} == {"denied"} else "failed" for one in status if status[one] == "failed"]
        held = "blocked" in case.stop and {"blocked", "cleared"} & {*status.values()}
        todo = [one for one in status if status[one] == "started" and wants[one] == "call"]
        todo += [one for one in wants if wants[one] == "side"] + [one for one in status if status[one] == "cleared"]
        todo += [one for one in case.ids if not held and one not in status
                 and all(status.get(a) == "completed" for a, b in case.edges if b == one)]  # fmt: skip
        for one in todo if not {*over} & {*case.stop} else ():
            if len(running) < case.parallel and one not in running:
                running.append(one)
                status[one] = "blocked" if wants[one] == "side" else "started"
        turn = [running.pop(0)] if running else [one for one, what in wants.items() if what in ("ask+", "ask-")]
        for one in turn:
            before, wants[one] = wants[one], next(lives[one], "end")
            if (before, wants[one]) != ("side", "side"):
                wants[one] = wants.pop(one)  # who is handed over first is helped first
            if wants[one] == "end":
                status[one] = "failed" if reasons[one] else "completed"
        if not turn:
            asked = any(what == "ask?" for what in wants.values())
            return status, None if asked else all(status.get(one) == "completed" for one in case.ids)


# ---- the same for real


class Played:
    """Plays a case: each specialist does what the script says, each wait is answered as it says."""

    def __init__(self, case: Case) -> None:
        self.case, self.at, self.wrong, self.number = case, Counter[str](), Counter[str](), count(1)
        self.now: dict[str, tuple[str, ...]] = {}
        self.waits: dict[str, str] = {}
        plays = {one: [self.play] for one in case.ids}
        kinds = {one: [self.side] for one in ("research", "plan_patch")}
        self.stage = MemoryStage({**plays, **kinds}, self.verdict)

    def definition(self) -> WorkflowDefinition:
        nodes = [make_node("p", "plan")]
        for one in self.case.ids[1:]:
            uses = ("p",) if one in self.case.steps else ()
            nodes.append(make_node(one, "exec").changed(inputs=NodeInputs(uses=uses)))
        budgets = WorkflowBudgets(parallel=self.case.parallel, handoffs=0)
        return check_workflow(
            WorkflowDefinition(
                name="case",
                prompt="do",
                nodes=tuple(nodes),
                edges=tuple(self.case.edges),
                budgets=budgets,
                stop=self.case.stop,
            ),
            "case",
        )  # type: ignore[arg-type]

    def play(self, order: WorkOrder) -> Output:
        one = order.node.id
        kind, rest = self.case.scripts[one][self.at[one]]
        if kind == "wrong" and self.wrong[f"{one} {self.at[one]}"] < int(rest[0]):
            self.wrong[f"{one} {self.at[one]}"] += 1
            raise UnusableAnswer("no")
        self.at[one] += 1
        if kind == "fail":
            raise Failed("broken")
        if kind == "blocked":
            self.now[one] = rest
            need = {"user": "needs_user_input", "research": "needs_research", "plan": "needs_plan_patch"}[rest[0]]
            blocked = Blocked(kind=need, question=f"what {next(self.number)}?")  # type: ignore[arg-type]
            return ExecResult(status="blocked", summary="", blocked=blocked)
        if one == "p":
            return PLAN
        self.now[one] = rest if kind == "ok" else ()
        actions = tuple(Action(kind="command", summary=said, argv=("x",)) for said in self.now[one])
        return ExecResult(status="done", summary="done", actions=actions)

    def side(self, order: WorkOrder) -> Output:
        action = order.node.id.removeprefix("handoff-").removesuffix("-plan")
        parent = next(event.body["node"] for event in self.stage.log if event.body.get("action") == action)
        second = order.node.id.endswith("-plan")
        if self.now[parent][2] == "bad" and not second:
            raise Failed("nobody knows")
        if order.node.type == "research":
            return ResearchBundle(question="?", summary="so")
        same = StepChange(op="replace", step="S3", why="so", steps=(PLAN.steps[2],))
        return PlanChanges(summary="the same", changes=(same,))

    def verdict(self, node_: WorkflowNode, node_action: NodeAction) -> str:
        if node_action.change is not None:
            return "allow"
        said = self.now[node_.id][1] if node_action.kind == "handoff" else node_action.summary
        if said.startswith("ask"):
            self.waits[f"a{sum(one.kind == 'action.proposed' for one in self.stage.log) + 1}"] = said
        return "ask" if said.startswith("ask") else said

    def walked(self) -> Engine:
        """Walk, answer what can be answered, and walk again with an engine that knows only the log."""
        while True:
            engine = Engine(self.definition(), self.stage)
            engine.walk()
            ready = {name: said for name, said in self.waits.items() if said != "ask?"}
            asked = {name: one for name, one in engine.progress.questions.items() if self.now[one][1] == "ask+"}
            if not ready and not asked:
                return engine
            for name, said in ready.items():
                del self.waits[name]
                self.stage.execute(name, by="Me") if said == "ask+" else self.stage.deny(name)
            for name in asked:
                self.stage.answer(name, "so")


PLAN = Plan(goal="do", steps=tuple(PlanStep(id=f"S{at}", title="do") for at in (1, 2, 3)))


@pytest.mark.parametrize(
    "first", [0, 50, *(pytest.param(first, marks=pytest.mark.slow) for first in range(100, CASES, 50))]
)
def test_generated_workflows_end_in_the_state_that_the_model_predicts(first: int) -> None:
    for seed in range(first, first + 50):
        case = generated(seed)

        engine = Played(case).walked()

        found = {one: engine.progress.status(one) for one in case.ids if engine.progress.status(one)}
        verdict = engine.flow.verdict(engine.progress)
        status, ok = predicted(generated(seed))
        shown = {one: "blocked" if what == "cleared" else what for one, what in status.items()}
        assert (found, verdict and verdict.ok) == (shown, ok), f"seed {seed}: {case}"


def test_the_generator_makes_all_that_can_happen() -> None:
    seen = Counter[str]()
    for seed in range(CASES):
        status, ok = predicted(generated(seed))
        seen.update({f"run {ok}", *status.values()})

    wanted = ("run True", "run False", "run None", "completed", "failed", "blocked")
    assert {one: seen[one] for one in wanted if seen[one] < CASES // 20} == {}


def test_the_same_outputs_give_the_same_state_byte_for_byte() -> None:
    for seed in range(40):
        first, second = (Played(generated(seed)).walked().progress.state() for _ in range(2))

        assert first == second


@pytest.mark.slow
def test_generated_workflows_are_walked_once_more_by_their_logs_to_the_same_bytes() -> None:
    for seed in range(100):
        played = Played(generated(seed))
        state = played.walked().progress.state()

        again = replay_log(played.definition(), tuple(played.stage.log), played.stage.read)

        assert again.state == state, f"seed {seed}"
