"""What a reviewer remarks is told to who did the work, which is done and reviewed again; and nodes that failed."""

import pytest

from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import Action, Claim, ExecResult, Plan, PlanStep, ResearchBundle
from gitnexus.workflow.definition import NodeBudget, NodeInputs, WorkflowDefinition, WorkflowNode, make_node
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.progress import WorkflowProgress
from gitnexus.workflow.replay import replay_log
from gitnexus.workflow.specialist import CallUsage, WorkOrder, WorkResult
from tests.workflow.memorystage import MemoryStage

REMARK = ResearchBundle(
    question="q", summary="not yet", claims=(Claim(text="b is missing", citations=("file:a#L1",), confidence=90),)
)
FINE = ResearchBundle(question="q", summary="fine")


def _patch(order: WorkOrder) -> ExecResult:
    diff = f"{order.step or 'all'} after {order.feedback[-20:]!r}"
    return ExecResult(status="done", summary=diff, actions=(Action(kind="patch", summary=diff, diff=diff),))


def _workflow(work: WorkflowNode, review: WorkflowNode, *others: WorkflowNode) -> WorkflowDefinition:
    before = tuple((one.id, work.id) for one in others if one.type == "plan")
    after = tuple((work.id, one.id) for one in others if one.type != "plan")
    nodes = (*(one for one in others if one.type == "plan"), work, *(one for one in others if one.type != "plan"))
    return WorkflowDefinition(
        name="w", prompt="do it", nodes=(*nodes, review), edges=(*before, *after, (work.id, review.id))
    )


def _reviewer(adapter: str = "model") -> WorkflowNode:
    return make_node("r", "review", adapter=adapter, inputs=NodeInputs(uses=("x",)))


def _calls(stage: MemoryStage) -> str:
    return " ".join(node + step for node, step in stage.calls)


def _walk(definition: WorkflowDefinition, stage: MemoryStage) -> object:
    return Engine(definition, stage).walk()


def _play() -> MemoryStage:
    return MemoryStage({"x": [_patch], "r": [REMARK, FINE]})


def test_a_remark_goes_back_to_who_did_the_work_and_the_rest_is_reviewed_again() -> None:
    definition, stage = _workflow(make_node("x", "exec", adapter="model"), _reviewer()), _play()

    assert _walk(definition, stage) == (True, "")
    assert _calls(stage) == "x r x r"
    feedback = next(event.body["why"] for event in stage.log if event.kind == "step.retried")
    assert feedback.endswith("has to change:\nnot yet\n- b is missing (file:a#L1)")
    assert [event.kind for event in stage.log].count("tool.executed") == 2
    assert replay_log(definition, stage.log, stage.read).walks == 1


def test_of_a_plan_the_last_step_is_done_again() -> None:
    plan = Plan(goal="g", steps=(PlanStep(id="S1", title="t"), PlanStep(id="S2", title="u", depends=("S1",))))
    work = make_node("x", "exec", adapter="model", inputs=NodeInputs(uses=("p",)))
    definition = _workflow(work, _reviewer(), make_node("p", "plan"))
    stage = MemoryStage({"p": [plan], "x": [_patch], "r": [REMARK, FINE]})

    assert _walk(definition, stage) == (True, "")
    assert _calls(stage) == "p xS1 xS2 r xS2 r"
    assert replay_log(definition, stage.log, stage.read).walks == 1


def test_out_of_tries_the_review_ends_with_its_remarks() -> None:
    definition = _workflow(make_node("x", "exec", adapter="model"), _reviewer())
    stage = MemoryStage({"x": [_patch], "r": [REMARK]})

    assert _walk(definition, stage) == (True, "")
    assert _calls(stage) == "x r x r x r x r"  # one try, and three retries


@pytest.mark.parametrize("case", ["rules review", "rules work", "another builds on it"])
def test_where_nobody_can_do_better_or_something_builds_on_it_a_remark_only_stands_there(case: str) -> None:
    work = make_node("x", "exec", adapter="embedded" if case == "rules work" else "model")
    other = [make_node("o", "command", argv=("true",))] if case == "another builds on it" else []
    definition = _workflow(work, _reviewer("embedded" if case == "rules review" else "model"), *other)
    stage = MemoryStage({"x": [_patch], "r": [REMARK], "o": [ExecResult(status="done", summary="s")]})

    assert _walk(definition, stage) == (True, "")
    assert "step.retried" not in stage.kinds


def test_killed_at_any_event_it_is_reviewed_to_the_same_end() -> None:
    definition = _workflow(make_node("x", "exec", adapter="model"), _reviewer())
    whole = _play()
    _walk(definition, whole)
    for at in range(1, len(whole.log)):
        stage = _play()
        stage.die_after = at
        with pytest.raises(KeyboardInterrupt):
            _walk(definition, stage)
        stage.die_after = 10**9
        for name in [one.body["action"] for one in stage.log if one.kind == "action.proposed"]:
            if not any(one.kind == "tool.executed" and one.body["action"] == name for one in stage.log):
                stage.execute(name)
        assert _walk(definition, stage) == (True, ""), at
        done = [one.body["action"] for one in stage.log if one.kind == "tool.executed"]
        assert len(done) == len(set(done)) == len([one for one in stage.log if one.kind == "action.proposed"])


def test_a_log_of_before_in_which_a_review_ended_with_its_remarks_replays() -> None:
    definition, stage = _workflow(make_node("x", "exec", adapter="model"), _reviewer()), _play()
    stage.remarks = lambda node, text: ""  # type: ignore[method-assign]

    assert _walk(definition, stage) == (True, "")
    assert replay_log(definition, stage.log, stage.read).walks == 1


def test_a_node_that_failed_is_tried_again_with_the_steps_that_are_done_and_told_why() -> None:
    plan = Plan(goal="g", steps=(PlanStep(id="S1", title="t"), PlanStep(id="S2", title="u", depends=("S1",))))
    work = make_node("x", "exec", adapter="model", inputs=NodeInputs(uses=("p",)))
    definition = _workflow(work, _reviewer(), make_node("p", "plan"))
    down = "the model cannot be reached"
    stage = MemoryStage({"p": [plan], "x": [_patch, down, _patch], "r": [FINE]})

    assert _walk(definition, stage) == (False, f"x: {down}")
    progress = WorkflowProgress()
    progress.fold(stage.log)
    assert Flow(definition).nodes_to_try_again(progress) == ["x"]
    stage.write([EventDraft("run.finished", "nexus", {"ok": False, "why": f"x: {down}"})])
    stage.write([EventDraft("run.resumed", "user", {"by": "Me", "definition": "sha256:" + "0" * 64, "again": ["x"]})])

    assert _walk(definition, stage) == (True, "")
    assert _calls(stage) == "p xS1 xS2 xS2 r"
    assert replay_log(definition, stage.log, stage.read).events > 10


def test_a_node_whose_action_was_denied_is_not_tried_again() -> None:
    definition = _workflow(make_node("x", "exec"), _reviewer())
    stage = MemoryStage({"x": [_patch], "r": [FINE]}, verdict=lambda node, action: "deny")
    _walk(definition, stage)
    progress = WorkflowProgress()
    progress.fold(stage.log)

    assert progress.status("x") == "failed"
    assert Flow(definition).nodes_to_try_again(progress) == []


def test_a_node_whose_budget_is_used_up_is_not_tried_again() -> None:
    work = make_node("x", "exec", adapter="model", budget=NodeBudget(tokens=10))
    answer = WorkResult(output=ExecResult(status="done", summary="s"), usage=CallUsage(input=9, output=2))
    definition, stage = _workflow(work, _reviewer()), MemoryStage({"x": [answer], "r": [FINE]})

    assert _walk(definition, stage) == (False, "x: it took 11 tokens of 10")
    progress = WorkflowProgress()
    progress.fold(stage.log)
    assert Flow(definition).nodes_to_try_again(progress) == []
