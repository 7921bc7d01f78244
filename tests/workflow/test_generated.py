"""Generated workflows end in the state that a model predicts, which knows nothing of the engine."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest

from gitnexus.base.errors import Failed
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanChanges, PlanStep, ResearchBundle, StepChange
from gitnexus.workflow.definition import NodeInputs, WorkflowBudgets, WorkflowDefinition, WorkflowNode, checked, node
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.replay import replayed
from gitnexus.workflow.specialist import Order, Output, Unfit
from gitnexus.workflow.stage import Deed
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


def predicted(case: Case) -> tuple[dict[str, str], bool | None]:  # noqa: C901 - one thought, to be read in one go
    status: dict[str, str] = {}
    at, wrong, denials = Counter[str](), Counter[str](), Counter[str]()
    parked: dict[str, tuple[str, tuple[str, ...]]] = {}
    sides: dict[str, list[str]] = {}
    running: list[tuple[str, str]] = []

    def fail(one: str, *, denied: bool = False) -> None:
        status[one], wrong[one], denials[one] = "failed", wrong[one] + 1, denials[one] + denied

    def deeds(one: str, rest: tuple[str, ...]) -> None:
        bad = next((place for place, said in enumerate(rest) if said != "allow"), None)
        if bad is not None and rest[bad].startswith("ask"):
            parked[one] = rest[bad], rest[bad + 1 :]
        else:
            over(one, "" if bad is None else "denied" if rest[bad] == "deny" else "failed")

    def over(one: str, why: str) -> None:
        if why:
            fail(one, denied=why == "denied")
        if not why or (one in case.steps and why not in case.stop):
            done = at[one] == len(case.scripts[one])
            status[one] = "started" if not done else "failed" if wrong[one] else "completed"

    def handed(one: str, said: str, end: str, need: str) -> None:
        if said == "allow":
            sides[one] = [end, "good"] if need == "research" and one in case.steps else [end]
        elif said == "deny":
            fail(one, denied=True)
        else:
            parked[one] = said, (end, need)

    def called(one: str, what: str) -> None:
        if what == "side":
            good = sides[one].pop(0) == "good"
            if not good:
                fail(one)
            elif not sides[one]:
                status[one] = "cleared"
            if not good or not sides[one]:
                del sides[one]
            return
        kind, rest = case.scripts[one][at[one]]
        at[one] += 1
        if kind == "fail" or (kind == "wrong" and int(rest[0]) > 2):
            fail(one)
        elif kind == "blocked":
            status[one] = "blocked"
            handed(one, rest[1], rest[2], rest[0])
        else:
            deeds(one, rest if kind == "ok" else ())

    def begin() -> None:
        for one, what in status.items():
            if what == "failed" and ("denied" if denials[one] == wrong[one] else "failed") in case.stop:
                return
        held = "blocked" in case.stop and any(one in ("blocked", "cleared") for one in status.values())
        todo = [(one, "call") for one, what in status.items() if what == "started" and one not in parked]
        todo += [(one, "side") for one in sides]
        todo += [(one, "call") for one, what in status.items() if what == "cleared"]
        for one in case.ids if not held else ():
            if one not in status and all(status.get(a) == "completed" for a, b in case.edges if b == one):
                todo.append((one, "call"))
        for one, what in todo:
            if len(running) < case.parallel and all(one != other for other, _ in running):
                running.append((one, what))
                status[one] = "blocked" if what == "side" else "started"

    while True:
        begin()
        if running:
            called(*running.pop(0))
            continue
        ready = {one: what for one, what in parked.items() if what[0] != "ask?"}
        if not ready:
            return status, None if parked else all(status.get(one) == "completed" for one in case.ids)
        for one, (said, rest) in ready.items():
            del parked[one]
            if status[one] != "blocked":
                deeds(one, rest) if said == "ask+" else over(one, "denied")
            elif rest[1] == "user":
                status[one] = "cleared"
            else:
                handed(one, "allow" if said == "ask+" else "deny", *rest)


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
        nodes = [node("p", "plan")]
        for one in self.case.ids[1:]:
            uses = ("p",) if one in self.case.steps else ()
            nodes.append(node(one, "exec").changed(inputs=NodeInputs(uses=uses)))
        budgets = WorkflowBudgets(parallel=self.case.parallel, handoffs=0)
        return checked(WorkflowDefinition(name="case", prompt="do", nodes=tuple(nodes), edges=tuple(self.case.edges),
                       budgets=budgets, stop=self.case.stop), "case")  # type: ignore[arg-type]  # fmt: skip

    def play(self, order: Order) -> Output:
        one = order.node.id
        kind, rest = self.case.scripts[one][self.at[one]]
        if kind == "wrong" and self.wrong[f"{one} {self.at[one]}"] < int(rest[0]):
            self.wrong[f"{one} {self.at[one]}"] += 1
            raise Unfit("no")
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

    def side(self, order: Order) -> Output:
        action = order.node.id.removeprefix("handoff-").removesuffix("-plan")
        parent = next(event.body["node"] for event in self.stage.log if event.body.get("action") == action)
        second = order.node.id.endswith("-plan")
        if self.now[parent][2] == "bad" and not second:
            raise Failed("nobody knows")
        if order.node.type == "research":
            return ResearchBundle(question="?", summary="so")
        same = StepChange(op="replace", step="S3", why="so", steps=(PLAN.steps[2],))
        return PlanChanges(summary="the same", changes=(same,))

    def verdict(self, node_: WorkflowNode, deed: Deed) -> str:
        if deed.change is not None:
            return "allow"
        said = self.now[node_.id][1] if deed.kind == "handoff" else deed.summary
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


@pytest.mark.parametrize("first", range(0, CASES, 50))
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


def test_generated_workflows_are_walked_once_more_by_their_logs_to_the_same_bytes() -> None:
    for seed in range(100):
        played = Played(generated(seed))
        state = played.walked().progress.state()

        again = replayed(played.definition(), tuple(played.stage.log), played.stage.read)

        assert again.state == state, f"seed {seed}"
