"""Work and reviews by rule: one action for each patch and command, and a question where there is neither."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanStep, ResearchBundle, StepContext
from gitnexus.workflow.embedded import EmbeddedSpecialist, execute_by_rule, review_by_rule
from gitnexus.workflow.embedded.extract_actions import call_with_diffs
from gitnexus.workflow.embedded.reviewing import AddedLine, added_lines
from gitnexus.workflow.specialist import AnsweredQuestion, WorkOrder
from tests.conftest import examples
from tests.workflow.scene import order

DIFF = "--- a/src/loop.py\n+++ b/src/loop.py\n@@ -1,2 +1,2 @@\n def loop():\n-    pass\n+    return 1\n"
NEW = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n"


def step(**given: object) -> PlanStep:
    return PlanStep(id="S1", title="mend the loop", **given)  # type: ignore[arg-type]


def on(one: PlanStep, **given: object) -> WorkOrder:
    return order("exec", "go", plan=Plan(goal="g", steps=(one,)), step="S1", **given)  # type: ignore[arg-type]


def checked(result: ExecResult) -> ExecResult:
    assert function_named("ExecStep").answer(result.plain()) == result
    return result


def test_each_patch_and_each_command_of_a_step_is_one_action_patches_first() -> None:
    one = step(commands=(("make", "test"), ("make", "lint")), baml=call_with_diffs([DIFF, NEW]))

    assert checked(execute_by_rule(on(one))) == ExecResult(
        status="done",
        summary="S1, mend the loop: 2 patches and 2 commands proposed.",
        actions=(
            Action(kind="patch", summary="Change src/loop.py: mend the loop", diff=DIFF),
            Action(kind="patch", summary="Change new.txt: mend the loop", diff=NEW),
            Action(kind="command", summary="Run make test", argv=("make", "test")),
            Action(kind="command", summary="Run make lint", argv=("make", "lint")),
        ),
    )


def test_a_step_that_only_says_what_to_reach_asks_how() -> None:
    ctx = StepContext(docs=("task:T1",), paths=("src/loop.py",), grep=("loop",))
    result = checked(execute_by_rule(on(step(accept=("it loops",), files=("src/loop.py",), ctx=ctx))))

    assert result.blocked is not None
    assert result.blocked.kind == "needs_user_input"
    assert result.blocked.question.startswith("How is S1 to be done: mend the loop in src/loop.py?")
    assert "It is done when: it loops." in result.blocked.question
    assert result.blocked.suggested_ctx == ("task:T1", "file:src/loop.py", "grep:loop")


def test_an_open_question_of_a_step_needs_research_until_it_is_answered() -> None:
    one = step(questions=("Which loop?",), commands=(("make",),))

    blocked = checked(execute_by_rule(on(one)))
    answered = checked(execute_by_rule(on(one, answers=(AnsweredQuestion("Which loop?", "the outer"),))))

    assert blocked.blocked is not None
    assert blocked.blocked.kind == "needs_research"
    assert answered.status == "done"


def test_a_patch_that_is_none_needs_another_plan() -> None:
    result = checked(execute_by_rule(on(step(baml=call_with_diffs(["no diff at all"])))))

    assert result.blocked is not None
    assert (result.blocked.kind, result.actions) == ("needs_plan_patch", ())


def test_a_step_that_the_plan_does_not_have_needs_another_plan() -> None:
    result = execute_by_rule(order("exec", "go", plan=Plan(goal="g", steps=(step(),)), step="S9"))

    assert result.blocked is not None
    assert "it has S1" in result.blocked.question


def test_an_answer_with_a_command_does_what_the_step_could_not() -> None:
    asked = AnsweredQuestion("How?", "```sh\nmake loop\n```")

    assert [one.argv for one in execute_by_rule(on(step(), answers=(asked,))).actions] == [("make", "loop")]


def test_without_a_plan_the_prompt_is_carried_out_as_it_stands() -> None:
    result = checked(execute_by_rule(order("exec", f"Apply this and run `make test`.\n\n```diff\n{DIFF}```\n")))

    assert [(one.kind, one.diff, one.argv) for one in result.actions] == [
        ("patch", DIFF, ()),
        ("command", "", ("make", "test")),
    ]


def test_a_command_that_proves_a_replacement_is_one() -> None:
    result = checked(execute_by_rule(order("exec", "Replace the parser in `a.py` and prove it by `make test`")))

    assert [one.argv for one in result.actions] == [("make", "test")]


def test_without_a_plan_a_list_is_carried_out_if_each_of_its_rows_can_be() -> None:
    whole, half = (
        execute_by_rule(order("exec", f"- [ ] run `make a`\n- [ ] {row}\n")) for row in ("`make b` passes", "think")
    )

    assert [one.argv for one in whole.actions] == [("make", "a"), ("make", "b")]
    assert half.blocked is not None


@pytest.mark.parametrize(
    "prompt",
    [
        "make it faster",
        "run `a | b`",
        "```diff\nnothing\n```",
        "Replace `def size(` by `def length(` in nosuch.py",
        "substitute the call of `size a` with `length a`",
    ],
)
def test_a_prompt_that_carries_nothing_is_blocked(prompt: str) -> None:
    result = checked(execute_by_rule(order("exec", prompt)))

    assert result.blocked is not None
    assert result.blocked.kind == "needs_user_input"


@given(st.text(max_size=300))
@settings(max_examples=examples(60))
def test_any_prompt_gives_a_checked_result_and_the_same_again(prompt: str) -> None:
    one, other = (EmbeddedSpecialist().work(order("exec", prompt)).output for _ in range(2))

    assert isinstance(one, ExecResult)
    assert checked(one) == other


def test_added_lines_have_the_numbers_that_they_get() -> None:
    assert list(added_lines(DIFF + NEW)) == [AddedLine("src/loop.py", 2, "    return 1"), AddedLine("new.txt", 1, "x")]


def result(*actions: Action) -> ExecResult:
    return ExecResult(status="done", summary="s", actions=actions)


def review(*actions: Action, plan: Plan | None = None) -> ResearchBundle:
    found = review_by_rule(order("review", "is it right?", inputs={"exec": result(*actions)}, plan=plan))
    assert isinstance(found, ResearchBundle)
    assert function_named("Research").answer(found.plain()) == found
    return found


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("    breakpoint()", "a stop for a debugger"),
        ("<<<<<<< ours", "a mark of a merge"),
        ("x = 1  # TODO later", "postponed work"),
        ("x = 1  ", "blanks at the end"),
        ("key = 'ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'", "what looks like a secret"),
    ],
)
def test_a_slip_is_named_with_its_line(line: str, what: str) -> None:
    found = review(Action(kind="patch", summary="p", diff=DIFF.replace("    return 1", line)))

    claim = next(one for one in found.claims if what in one.text)
    assert claim.citations == ("file:src/loop.py#L2",)
    assert "ghp_" not in claim.text


def test_a_review_holds_the_work_against_the_plan() -> None:
    plan = Plan(
        goal="g", steps=(step(files=("docs/",), commands=(("make", "test"),)), step(accept=("holds",)).changed(id="S2"))
    )
    found = review(Action(kind="patch", summary="p", diff=DIFF), plan=plan)

    assert [one.text for one in found.claims] == [
        "src/loop.py changed, and no test did",
        "src/loop.py changed, and no step of the plan names it",
    ]
    assert found.unresolved == (
        "S1 is to be proved by make test, which nobody proposed to run.",
        "Does it hold after S2: holds? No command proves it.",
    )


def test_a_review_of_nothing_is_blocked() -> None:
    assert isinstance(review_by_rule(order("review", "look")), Blocked)
