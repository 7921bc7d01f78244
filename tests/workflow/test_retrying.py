"""What does not hold is told to the model that proposed it, which tries again as often as its node allows."""

from gitnexus.prompts.model import Action, ExecResult, Plan, PlanStep
from gitnexus.workflow.definition import (
    NodeBudget,
    NodeInputs,
    WorkflowDefinition,
    WorkflowNode,
    make_node,
)
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.engine_protocol import CommitProof
from gitnexus.workflow.replay import replay_log
from gitnexus.workflow.specialist import UnusableAnswer, WorkOrder
from tests.workflow.memorystage import MemoryStage

TEST = ("make", "test")


def _workflow(node: WorkflowNode, *before: WorkflowNode) -> WorkflowDefinition:
    edges = tuple((one.id, node.id) for one in before)
    return WorkflowDefinition(name="w", prompt="do it", nodes=(*before, node), edges=edges)


def _patch(diff: str) -> ExecResult:
    return ExecResult(status="done", summary=diff, actions=(Action(kind="patch", summary=diff, diff=diff),))


def _walk(definition: WorkflowDefinition, stage: MemoryStage) -> object:
    return Engine(definition, stage).walk()


def _wrong_form(order: WorkOrder) -> ExecResult:
    raise UnusableAnswer("the answer: status is missing")


def test_wrong_form_no_fit_failed_proof_and_a_right_one_are_four_attempts_and_one_proposal() -> None:
    told: list[str] = []

    def answer(diff: str) -> object:
        def play(order: WorkOrder) -> ExecResult:
            told.append(order.feedback)
            return _patch(diff)

        return play

    plan = Plan(goal="g", steps=(PlanStep(id="S1", title="t", commands=(TEST,)),))
    made = make_node("p", "plan")
    node = make_node("x", "exec", adapter="model", inputs=NodeInputs(uses=("p",)))
    stage = MemoryStage(
        {"p": [plan], "x": [_wrong_form, answer("unfit"), answer("broken"), answer("right")]},  # type: ignore[list-item]
        verdict=lambda node, deed: "unfit" if deed.summary == "unfit" else "ask",
        proof=lambda deed: "make test fails with status 2:\nassert 1 == 2" if deed.summary == "broken" else "",
    )
    definition = _workflow(node, made)

    assert _walk(definition, stage) is None
    proposed = [event.body["summary"] for event in stage.log if event.kind == "action.proposed"]
    stage.execute("a1", by="Me")
    verdict = _walk(definition, stage)

    assert proposed == ["right"]
    assert verdict == (True, "")
    assert told == [
        "the answer: status is missing",
        "patch refused: it does not fit",
        "make test fails with status 2:\nassert 1 == 2",
    ]
    checked = [(one.body["attempt"], one.body["ok"]) for one in stage.log if one.kind == "output.checked"]
    assert checked == [(1, True), (1, False), (2, True), (3, True), (4, True)]  # the first is the plan's
    assert stage.proved == [["make test"]] * 3


def test_the_fourth_failure_is_a_question_and_the_answer_gives_as_many_tries_again() -> None:
    node = make_node("x", "exec", adapter="model")
    stage = MemoryStage(
        {"x": [_patch("bad")]}, verdict=lambda node, deed: "unfit" if deed.summary == "bad" else "allow"
    )
    definition = _workflow(node)

    assert _walk(definition, stage) is None
    question = next(event.body for event in stage.log if event.kind == "question.asked")
    assert question["text"].startswith("no valid result after 4 tries. The last one: patch refused: it does not fit")
    assert len(stage.calls) == 4
    stage.plays = {"x": [_patch("bad")] * 4 + [_patch("bad"), _patch("good")]}
    stage.answer("q1", "change the other file")

    assert _walk(definition, stage) == (True, "")
    assert len(stage.calls) == 6


def test_a_command_that_fails_and_a_no_with_a_reason_are_told_too() -> None:
    run = ExecResult(status="done", summary="s", actions=(Action(kind="command", summary="c", argv=TEST),))
    told: list[str] = []

    def second(order: WorkOrder) -> ExecResult:
        told.append(order.feedback)
        return _patch("p")

    stage = MemoryStage(
        {"x": [run, second]},
        verdict=lambda node, deed: "broken" if deed.kind == "command" else "ask",
    )
    definition = _workflow(make_node("x", "exec", adapter="model"))
    assert _walk(definition, stage) is None
    stage.deny("a2", "not in this file")
    assert _walk(definition, stage) is None

    assert told == ["a1, a command, failed: ", "a2 denied: not in this file"]


def test_a_no_without_a_reason_ends_the_step_and_rules_are_not_asked_twice() -> None:
    said_no = MemoryStage({"x": [_patch("p")]}, verdict=lambda node, deed: "ask")
    definition = _workflow(make_node("x", "exec", adapter="model"))
    _walk(definition, said_no)
    said_no.deny("a1")
    by_rule = MemoryStage({"x": [_patch("p")]}, verdict=lambda node, deed: "unfit")

    assert _walk(definition, said_no) == (False, "x: a1 denied")
    assert _walk(_workflow(make_node("x", "exec")), by_rule) == (False, "x: patch refused: it does not fit")
    assert len(by_rule.calls) == 1


def test_the_tokens_of_all_tries_count_together() -> None:
    from gitnexus.workflow.specialist import CallUsage, WorkResult

    node = make_node("x", "exec", adapter="model", budget=NodeBudget(retries=9, tokens=250))
    costly = lambda order: WorkResult(output=_patch("bad"), usage=CallUsage(input=100))  # noqa: E731
    stage = MemoryStage({"x": [costly]}, verdict=lambda node, deed: "unfit")

    assert _walk(_workflow(node), stage) == (False, "x: it took 300 tokens of 250")


def test_a_log_with_tries_replays_and_so_does_one_that_was_written_before_there_were_any() -> None:
    node = make_node("x", "exec", adapter="model")
    new = MemoryStage({"x": [_patch("bad"), _patch("good")]},
                      verdict=lambda node, deed: "unfit" if deed.summary == "bad" else "allow")  # fmt: skip
    old = MemoryStage({"x": [_patch("bad")]}, verdict=lambda node, deed: "unfit")
    old.retry = lambda why: ""  # type: ignore[method-assign]
    definition = _workflow(node)
    _walk(definition, new)
    _walk(definition, old)

    assert "step.retried" in new.kinds
    assert "step.retried" not in old.kinds
    for stage in (new, old):
        assert replay_log(definition, stage.log, stage.read).walks == 1


def test_killed_at_any_event_it_comes_to_the_same_end() -> None:
    def play() -> MemoryStage:
        return MemoryStage({"x": [_patch("bad"), _patch("worse"), _patch("good")]},
                           verdict=lambda node, deed: "allow" if deed.summary == "good" else "unfit")  # fmt: skip

    definition = _workflow(make_node("x", "exec", adapter="model"))
    whole = play()
    _walk(definition, whole)
    for at in range(1, len(whole.log)):
        stage = play()
        stage.die_after = at
        try:
            _walk(definition, stage)
        except KeyboardInterrupt:
            stage.die_after = 10**9
            if "action.proposed" in stage.kinds and "tool.executed" not in stage.kinds:
                stage.execute("a1")
        assert _walk(definition, stage) == (True, "")
        assert sum(event.kind == "tool.executed" for event in stage.log) == 1


def _planned(*steps: PlanStep) -> tuple[WorkflowDefinition, Plan]:
    node = make_node("x", "exec", adapter="model", inputs=NodeInputs(uses=("p",)))
    return _workflow(node, make_node("p", "plan")), Plan(goal="g", steps=steps)


_TWO = (PlanStep(id="S1", title="t", commands=(TEST,)), PlanStep(id="S2", title="u", depends=("S1",)))


def test_a_step_is_done_only_when_its_proof_passed_on_what_was_committed() -> None:
    definition, plan = _planned(*_TWO)
    told: list[tuple[str, str]] = []

    def play(order: WorkOrder) -> ExecResult:
        told.append((order.step, order.feedback))
        return _patch(f"p{len(told)}")

    wrong = CommitProof("on what was committed make test fails with status 2:\nassert 1 == 2")
    found = iter([wrong, CommitProof()])
    stage = MemoryStage({"p": [plan], "x": [play]}, commit_proof=lambda: next(found))

    assert _walk(definition, stage) == (True, "")
    assert told == [("S1", ""), ("S1", wrong.why), ("S2", "")]
    assert stage.checked == [["make test"]] * 2
    ended = [(event.body["step"], event.body["ok"]) for event in stage.log if event.kind == "step.finished"]
    assert ended == [("S1", True), ("S2", True)]
    assert replay_log(definition, stage.log, stage.read).walks == 1


def test_a_proof_that_fails_after_the_commit_of_who_cannot_mend_it_keeps_what_depends_on_it_from_running() -> None:
    node = make_node("x", "exec", inputs=NodeInputs(uses=("p",)))
    definition = _workflow(node, make_node("p", "plan")).changed(stop=("blocked",))
    plan = Plan(goal="g", steps=_TWO)
    wrong = CommitProof("on what was committed make test fails with status 2:")
    stage = MemoryStage({"p": [plan], "x": [_patch("p1")]}, commit_proof=lambda: wrong)

    assert _walk(definition, stage) == (False, f"x: S1: {wrong.why}")
    assert [step for _, step in stage.calls if step] == ["S1"]
    assert replay_log(definition, stage.log, stage.read).walks == 1


def test_a_proof_that_needs_a_yes_is_asked_about_after_the_patch_and_a_no_ends_the_step() -> None:
    definition, plan = _planned(_TWO[0])

    def walked(*proofs: CommitProof) -> MemoryStage:
        found = iter(proofs)
        stage = MemoryStage(
            {"p": [plan], "x": [_patch("p")]},
            verdict=lambda node, deed: "ask" if deed.kind == "command" else "allow",
            commit_proof=lambda: next(found),
        )
        assert _walk(definition, stage) is None
        return stage

    asks = CommitProof(asks=(TEST,))
    yes, no = walked(asks, CommitProof()), walked(asks)
    yes.execute("a2", by="Me")
    no.deny("a2")

    assert [event.body["summary"] for event in yes.log if event.kind == "action.proposed"] == [
        "p",
        "Prove the committed step “t”",
    ]
    assert (_walk(definition, yes), _walk(definition, no)) == ((True, ""), (False, "x: S1: a2 denied"))
    for stage in (yes, no):
        assert replay_log(definition, stage.log, stage.read).walks == 1
