"""The engine with scripted specialists and a scripted gate: what is called, done and left, and in which order."""

import pytest

from gitnexus.prompts.model import (
    Action,
    Blocked,
    Claim,
    ExecResult,
    Plan,
    PlanChanges,
    PlanStep,
    ResearchBundle,
    StepChange,
)
from gitnexus.workflow.definition import WorkflowDefinition, make_node
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.macros import MACROS, expand_macro
from gitnexus.workflow.specialist import Output, UnusableAnswer, WorkOrder
from tests.workflow.memorystage import MemoryStage, Play

BUNDLE = ResearchBundle(
    question="how?", summary="so", claims=(Claim(text="it is", citations=("a.py",), confidence=90),)
)
PATCH = Action(kind="patch", summary="mend it", diff="--- a\n")
COMMAND = Action(kind="command", summary="try it", argv=("true",))
DONE = ExecResult(status="done", summary="did it", actions=(PATCH, COMMAND))
NOTHING = ExecResult(status="done", summary="nothing to do")


def plan(*steps: PlanStep) -> Plan:
    return Plan(goal="mend", steps=steps or (PlanStep(id="S1", title="one", files=("a.py",)),))


def blocked(kind: str, question: str = "which?") -> ExecResult:
    return ExecResult(status="blocked", summary="no", blocked=Blocked(kind=kind, question=question))  # type: ignore[arg-type]


def chain(**changed: object) -> WorkflowDefinition:
    return expand_macro(MACROS["research-plan-exec"], "mend it", {}).changed(**changed)


def walked(stage: MemoryStage, definition: WorkflowDefinition | None = None) -> Engine:
    engine = Engine(definition or chain(), stage)
    engine.walk()
    return engine


def statuses(engine: Engine) -> dict[str, str]:
    return {id_: one.status for id_, one in engine.progress.nodes.items() if one.status}


def stage(*execs: Play, **more: object) -> MemoryStage:
    plays: dict[str, list[Play]] = {"research": [BUNDLE], "plan": [plan()], "exec": list(execs) or [DONE]}
    return MemoryStage(plays, **more)  # type: ignore[arg-type]


def test_three_nodes_run_in_order_and_each_deed_goes_through_the_gate() -> None:
    scene = stage()

    engine = walked(scene)

    assert statuses(engine) == {"research": "completed", "plan": "completed", "exec": "completed"}
    assert scene.calls == [("research", ""), ("plan", ""), ("exec", "S1")]
    assert scene.node_actions == [("exec", "patch"), ("exec", "command")]
    assert engine.flow.verdict(engine.progress) == (True, "")


def test_a_node_is_given_what_the_nodes_before_it_gave_and_the_plan_in_force() -> None:
    seen: list[WorkOrder] = []

    def look(order: WorkOrder) -> Output:
        seen.append(order)
        return NOTHING

    walked(stage(look))

    assert [(one.inputs, one.plan, one.step, one.prompt) for one in seen] == [
        ({"research": BUNDLE, "plan": plan()}, plan(), "S1", "mend it")
    ]


def test_an_output_that_does_not_fit_is_told_to_who_gave_it_as_often_as_retries_allow() -> None:
    told: list[str] = []

    def wrong(order: WorkOrder) -> Output:
        told.append(order.feedback)
        if len(told) == 2:
            raise UnusableAnswer("no JSON at all")
        return plan(PlanStep(id="S1", title="a"), PlanStep(id="S1", title="b"))

    scene = stage()
    scene.plays = {**scene.plays, "plan": [wrong]}

    engine = walked(scene)

    message = "the answer: each step needs an id of its own, of 1 to 100 characters; 'S1' is none"
    assert told == ["", message, "no JSON at all", message]
    assert statuses(engine) == {"research": "completed", "plan": "failed"}
    assert engine.progress.nodes["plan"].why == f"no answer that can be used in 4 tries: {message}"
    checks = [
        event.body["ok"] for event in scene.log if event.kind == "output.checked" and event.body["node"] == "plan"
    ]
    assert checks == [False] * 4


def test_a_failed_specialist_stops_the_workflow_and_says_why() -> None:
    engine = walked(stage("the disk is full"))

    assert engine.flow.verdict(engine.progress) == (False, "exec: the disk is full")


def test_what_waits_for_a_person_is_gone_on_with_after_the_answer_and_nothing_is_done_twice() -> None:
    scene = stage(verdict=lambda node, deed: "ask" if deed.kind == "patch" else "allow")
    assert walked(scene).flow.verdict(walked(scene).progress) is None
    calls, deeds = list(scene.calls), list(scene.node_actions)

    scene.execute("a1", by="Me")
    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (True, "")
    assert scene.calls == calls
    assert scene.node_actions == [*deeds, ("exec", "command")]


def test_a_denied_patch_fails_its_step_and_what_comes_after_is_not_tried() -> None:
    scene = stage(verdict=lambda node, deed: "deny")

    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (False, "exec: S1: a1 denied")
    assert scene.node_actions == [("exec", "patch")]


def test_a_command_that_fails_fails_its_step() -> None:
    scene = stage(verdict=lambda node, deed: "broken" if deed.kind == "command" else "allow")

    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (False, "exec: S1: a2 failed")


def test_steps_that_do_not_depend_on_a_failed_one_go_on_where_failing_does_not_stop() -> None:
    steps = (
        PlanStep(id="S1", title="one"),
        PlanStep(id="S2", title="two", depends=("S1",)),
        PlanStep(id="S3", title="three"),
    )
    scene = stage(DONE, NOTHING, verdict=lambda node, deed: "deny")
    scene.plays = {**scene.plays, "plan": [plan(*steps)]}

    engine = walked(scene, chain(stop=("failed",)))

    assert scene.calls[2:] == [("exec", "S1"), ("exec", "S3")]
    assert statuses(engine)["exec"] == "failed"


def test_a_block_asks_before_the_handoff_and_again_before_the_plan_changes() -> None:
    changes = PlanChanges(summary="look first", changes=(StepChange(op="replace", step="S1", why="known now",
                          steps=(PlanStep(id="S1", title="one, knowing"),)),))  # fmt: skip
    scene = stage(blocked("needs_research"), NOTHING, verdict=lambda node, deed: "ask")
    scene.plays = {**scene.plays, "plan_patch": [changes]}

    first = walked(scene)
    assert (statuses(first)["exec"], [one.kind for one in first.progress.actions.values()]) == ("blocked", ["handoff"])
    scene.execute("a1", by="Me")
    second = walked(scene)
    assert [(one.kind, one.status) for one in second.progress.actions.values()] == [
        ("handoff", "executed"), ("plan_patch", "waiting"),
    ]  # fmt: skip
    assert second.inputs.plan(second.flow.nodes["exec"]) == plan()
    scene.execute("a2", by="Me")
    third = walked(scene)

    assert third.flow.verdict(third.progress) == (True, "")
    assert scene.calls[2:] == [("exec", "S1"), ("handoff-a1", ""), ("handoff-a1-plan", ""), ("exec", "S1")]
    in_force = third.inputs.plan(third.flow.nodes["exec"])
    assert in_force is not None
    assert in_force.steps[0].title == "one, knowing"


@pytest.mark.parametrize(("action", "why"), [
    ("a1", "exec: a1 denied, so this stays blocked: which?"),
    ("a2", "exec: it could not be cleared: which?"),
])  # fmt: skip
def test_a_no_to_the_handoff_or_to_the_new_plan_ends_what_was_blocked(action: str, why: str) -> None:
    new = StepChange(op="replace", step="S1", why="so", steps=(PlanStep(id="S2", title="two"),))
    changes = PlanChanges(summary="another", changes=(new,))
    scene = stage(blocked("needs_plan_patch"), verdict=lambda node, deed: "ask")
    scene.plays = {**scene.plays, "plan_patch": [changes]}
    walked(scene)
    if action == "a2":
        scene.execute("a1", by="Me")
        walked(scene)

    scene.deny(action)
    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (False, why)


def test_a_question_to_the_user_waits_and_its_answer_is_given_to_who_asked() -> None:
    seen: list[tuple[tuple[str, str], ...]] = []

    def after(order: WorkOrder) -> Output:
        seen.append(tuple((one.question, one.answer) for one in order.answers))
        return NOTHING

    scene = stage(blocked("needs_user_input", "red or blue?"), after)
    assert walked(scene).progress.questions == {"q1": "exec"}

    scene.answer("q1", "blue")
    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (True, "")
    assert seen == [(("red or blue?", "blue"),)]


def test_who_is_blocked_again_by_what_was_cleared_away_fails() -> None:
    scene = stage(blocked("needs_user_input"), answers={"q1": "that one"})

    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (False, "exec: blocked again by what was cleared away: which?")


def test_a_step_over_budget_does_not_run_before_its_split_is_approved() -> None:
    big = PlanStep(id="S2", title="big", files=tuple(f"d{at}/f.py" for at in range(10)))
    small = PlanStep(id="S1", title="small", files=("a.py",))

    def split(order: WorkOrder) -> Output:
        assert order.split is not None
        parts = [big.changed(id=f"S2.{at}", files=files) for at, files in enumerate(order.split.parts, 1)]
        change = StepChange(op="split", step=order.split.step, why=order.split.why, steps=tuple(parts))
        return PlanChanges(summary="split S2", changes=(change,))

    scene = stage(NOTHING, verdict=lambda node, deed: "ask")
    scene.plays = {**scene.plays, "plan": [plan(small, big)], "plan_patch": [split]}
    walked(scene)
    scene.execute("a1", by="Me")
    walked(scene)
    assert scene.calls[2:] == [("exec", "S1"), ("handoff-a1", "")]

    scene.execute("a2", by="Me")
    engine = walked(scene)

    assert engine.flow.verdict(engine.progress) == (True, "")
    assert scene.calls[4:] == [("exec", "S2.1"), ("exec", "S2.2")]
    batches = [(event.body["batch"], event.body["cu"], event.body["ok"]) for event in scene.log
               if event.kind == "batch.finished"]  # fmt: skip
    assert batches == [("exec.1", 5, True), ("exec.2", 40, True), ("exec.3", 10, True)]


def test_autopilot_stops_its_batch_at_the_first_surprise_and_goes_on_when_told() -> None:
    steps = (PlanStep(id="S1", title="one", files=("a.py",)), PlanStep(id="S2", title="two", files=("b.py",)))
    scene = stage(
        DONE,
        surprises=lambda deed, files: "it changes c.py" if deed.kind == "patch" and files == ("b.py",) else "",
    )
    scene.plays = {**scene.plays, "plan": [plan(*steps)]}
    definition = chain(mode="autopilot")
    engine = walked(scene, definition)
    assert list(engine.progress.questions) == ["q1"]
    assert [one.body.get("why") for one in scene.log if one.kind == "batch.finished"] == [
        "surprise in S2: it changes c.py"
    ]
    assert scene.node_actions == [("exec", "patch"), ("exec", "command")]

    scene.answer("q1", "yes")
    engine = walked(scene, definition)

    assert engine.flow.verdict(engine.progress) == (True, "")
    assert scene.calls[2:] == [("exec", "S1"), ("exec", "S2")]


def test_a_batch_tells_each_step_and_autopilot_says_what_it_stops_at() -> None:
    steps = tuple(PlanStep(id=f"S{at}", title="do", files=("a.py",)) for at in (1, 2, 3))
    wants = iter(("allow", "allow", "ask"))
    scene = stage(ExecResult(status="done", summary="did it", actions=(PATCH,)), verdict=lambda node, deed: next(wants))
    scene.plays = {**scene.plays, "plan": [plan(*steps)]}

    walked(scene, chain(mode="autopilot"))

    assert [one for one in scene.shown if "S1" in one or "S2" in one or "S3" in one] == [
        "batch exec.1 (15 units): S1, S2, S3",
        "S1 is done (1 of 3 in batch exec.1)",
        "S2 is done (2 of 3 in batch exec.1)",
        "exec stops at S3: a3 has to be asked about",
    ]


def test_nothing_begins_once_the_budget_is_used_up() -> None:
    from gitnexus.workflow.specialist import CallUsage, WorkResult

    scene = stage()
    scene.plays = {
        **scene.plays,
        "research": [lambda order: WorkResult(output=BUNDLE, usage=CallUsage(input=90, output=20))],
    }
    definition = chain()
    engine = walked(scene, definition.changed(budgets=definition.budgets.changed(tokens=100)))

    assert engine.flow.verdict(engine.progress) == (False, "110 tokens of 100 are used up")
    assert scene.calls == [("research", "")]


def test_independent_nodes_work_side_by_side_up_to_the_limit() -> None:
    import threading

    gate = threading.Barrier(2, timeout=10)

    def meet(order: WorkOrder) -> Output:
        gate.wait()
        return BUNDLE

    definition = WorkflowDefinition(
        name="two",
        prompt="look",
        nodes=(make_node("one", "research"), make_node("two", "research"), make_node("last", "plan")),
        edges=(("one", "last"), ("two", "last")),
    )
    scene = MemoryStage({"research": [meet], "plan": [plan()]})

    engine = walked(scene, definition)

    assert engine.flow.verdict(engine.progress) == (True, "")
    assert [event.body["node"] for event in scene.log if event.kind == "node.completed"] == ["one", "two", "last"]


def test_killed_after_any_event_it_goes_on_and_repeats_no_node_and_no_deed() -> None:
    whole = stage()
    walked(whole)
    for at in range(len(whole.log)):
        scene = stage(die_after=at)
        with pytest.raises(KeyboardInterrupt):
            walked(scene)
        scene.die_after = 10**9
        # What was begun and not seen to end is a person's to look at: here it had not happened.
        for name, one in Engine(chain(), scene).progress.actions.items():
            if one.status in ("proposed", "approved", "unknown"):
                scene.execute(name)

        engine = walked(scene)

        assert engine.flow.verdict(engine.progress) == (True, "")
        done = [event.body["node"] for event in scene.log if event.kind == "node.completed"]
        assert done == ["research", "plan", "exec"]
        assert len(scene.node_actions) - len(set(scene.node_actions)) <= 1
        assert list(engine.progress.actions) == ["a1", "a2"]


def test_a_node_is_given_the_seconds_that_are_left_and_none_begins_without() -> None:
    left: list[float | None] = []

    def look(order: WorkOrder) -> Output:
        left.append(order.seconds_left())
        return BUNDLE

    scene = stage()
    scene.plays = {**scene.plays, "research": [look]}
    definition = chain()
    engine = Engine(definition.changed(budgets=definition.budgets.changed(seconds=100)), scene)
    engine.inputs.used = 40
    engine.walk()
    late = Engine(definition.changed(budgets=definition.budgets.changed(seconds=100)), stage())
    late.inputs.used = 100

    assert [round(one or 0) for one in left] == [60]
    assert late.walk() == (False, "research: the 100 seconds of this workflow are used up")
