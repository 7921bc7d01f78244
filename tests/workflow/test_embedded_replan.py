"""Changes of plans by rule: splits, what a person says, and what was answered or found since."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Blocked, Claim, Plan, PlanChanges, PlanStep, ResearchBundle, StepContext
from gitnexus.workflow.budget import CostWeights, parse_counted_plan
from gitnexus.workflow.embedded import replan_by_rule
from gitnexus.workflow.embedded.extract_actions import call_with_diffs, diffs_of_step
from gitnexus.workflow.packing import BatchLimits, BrokenLimit, SplitRequest, pack_plan
from gitnexus.workflow.specialist import AnsweredQuestion
from tests.conftest import examples
from tests.workflow.scene import order

PLAN = Plan(
    goal="g",
    steps=(
        PlanStep(id="S1", title="one", commands=(("make", "a"),)),
        PlanStep(id="S2", title="two", questions=("Which?",), depends=("S1",)),
        PlanStep(id="S3", title="three"),
    ),
)


def diff(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"


def changes(prompt: str, **given: object) -> PlanChanges:
    found = replan_by_rule(order("plan_patch", prompt, **{"plan": PLAN, **given}))  # type: ignore[arg-type]
    assert isinstance(found, PlanChanges), found
    assert function_named("PlanPatch").answer(found.plain()) == found
    return found


def test_a_step_over_budget_is_split_as_the_packing_proposes() -> None:
    files = ("a/1.py", "a/2.py", "b/3.py")
    step = PlanStep(
        id="S1", title="big", files=files, commands=(("make", "test"),), accept=("done",),
        baml=call_with_diffs([diff("b/3.py")]), ctx=StepContext(paths=files),
    )  # fmt: skip
    split = SplitRequest(
        plan="",
        step="S1",
        over=(BrokenLimit(limit="cu", has=60, may=40),),
        why="S1 takes 60",
        parts=(files[:2], files[2:]),
    )
    (change,) = changes("split it", plan=Plan(goal="g", steps=(step,)), split=split).changes

    assert [(one.id, one.title, one.files, one.depends, one.accept) for one in change.steps] == [
        ("S1.1", "big (1 of 2)", files[:2], (), ()),
        ("S1.2", "big (2 of 2)", files[2:], ("S1.1",), ("done",)),
    ]
    assert [diffs_of_step(one) for one in change.steps] == [[], [diff("b/3.py")]]
    assert [one.ctx.paths for one in change.steps] == [files[:2], files[2:]]
    assert change.op == "split"


def test_a_patch_of_many_files_stays_one_patch_in_each_part_of_a_split() -> None:
    files = ("a/1.py", "a/2.py", "b/3.py", "b/4.py")
    whole = [f"diff --git a/{path} b/{path}\n{diff(path)}" for path in files]
    step = PlanStep(id="S1", title="big", files=files, baml=call_with_diffs(["".join(whole)]))
    split = SplitRequest(
        plan="", step="S1", over=(BrokenLimit(limit="cu", has=60, may=40),), why="w", parts=(files[:2], files[2:])
    )

    (change,) = changes("split it", plan=Plan(goal="g", steps=(step,)), split=split).changes

    assert [diffs_of_step(one) for one in change.steps] == [["".join(whole[:2])], ["".join(whole[2:])]]


def test_a_step_that_reads_too_much_is_split_by_what_it_reads_and_one_of_many_commands_by_those() -> None:
    over = (BrokenLimit(limit="ctxKib", has=200, may=160),)
    reads = PlanStep(id="S1", title="t", ctx=StepContext(paths=("a", "b")))
    runs = PlanStep(id="S1", title="t", commands=(("a",), ("b",)))

    first, second = (
        changes("x", plan=Plan(goal="g", steps=(one,)), split=SplitRequest(plan="", step="S1", over=over, why="w"))
        for one in (reads, runs)
    )

    assert [one.ctx.paths for one in first.changes[0].steps] == [("a",), ("b",)]
    assert [one.commands for one in second.changes[0].steps] == [(("a",),), (("b",),)]


def test_a_step_that_cannot_be_cut_is_a_question() -> None:
    split = SplitRequest(plan="", step="S3", over=(BrokenLimit(limit="risk", has=3, may=2),), why="w")
    found = replan_by_rule(order("plan_patch", "x", plan=PLAN, split=split))

    assert isinstance(found, Blocked)
    assert found.question.startswith("How is S3 to be made smaller? It breaks a limit (risk 3 of 2)")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), min_size=1, max_size=20, unique=True), st.booleans()
)
@settings(max_examples=examples(60))
def test_a_split_loses_no_file_no_command_and_no_patch_and_its_parts_fit(
    rows: list[tuple[str, int]], patched: bool
) -> None:
    files = tuple(f"{folder}/{number}.py" for folder, number in rows)
    step = PlanStep(
        id="S1",
        title="t",
        files=files,
        commands=(("make",),),
        baml=call_with_diffs([diff(one) for one in files] if patched else []),
    )
    plan = Plan(goal="g", steps=(step,))
    limits = BatchLimits(cu=12)
    splits = pack_plan(parse_counted_plan(plan.plain(), "plan"), {}, CostWeights(), limits).splits
    if not splits:
        return
    parts = changes("x", plan=plan, split=splits[0]).changes[0].steps

    assert sorted(path for one in parts for path in one.files) == sorted(files)
    assert sorted(one for part in parts for one in diffs_of_step(part)) == sorted(diffs_of_step(step))
    assert all(one.commands == (() if patched and one != parts[-1] else step.commands) for one in parts)
    assert all(later.depends == (earlier.id,) for earlier, later in pairwise(parts))
    again = parse_counted_plan(Plan(goal="g", steps=parts).plain(), "plan")
    assert pack_plan(again, {}, CostWeights(), limits).splits == ()


@pytest.mark.parametrize(
    ("said", "op", "step", "titles"),
    [
        ("remove S3", "remove", "S3", []),
        ("please drop step S3", "remove", "S3", []),
        ("add after S1: run `make b`", "add", "S1", ["run `make b`"]),
        ("add a step before S2: run `make b`", "add", "S1", ["run `make b`"]),
        ("add before S1: write it", "add", "", ["write it"]),
        ("replace S2 with: write src/a.py", "replace", "S2", ["write src/a.py"]),
        ("split S3 into:\n- [ ] left\n- [ ] right\n", "split", "S3", ["left", "right"]),
        ("replace S2:\n\n1. left\n2. right\n", "replace", "S2", ["left", "right"]),
    ],
)
def test_what_is_said_about_a_step_is_done(said: str, op: str, step: str, titles: list[str]) -> None:
    (change,) = changes(said).changes

    assert (change.op, change.step, [one.title for one in change.steps]) == (op, step, titles)
    taken = {one.id for one in PLAN.steps} - {change.step}
    assert not taken & {one.id for one in change.steps}


def test_several_changes_are_said_in_one_go() -> None:
    found = changes("remove S3\nadd after S1: run `make b`\nreplace S2: look\n")

    assert [(one.op, one.step) for one in found.changes] == [("remove", "S3"), ("add", "S1"), ("replace", "S2")]


def test_an_answer_with_a_patch_mends_the_step_that_was_blocked() -> None:
    blocked = Blocked(kind="needs_user_input", question="How is S2 to be done?")
    answer = AnsweredQuestion(blocked.question, f"like this\n\n```diff\n{diff('src/a.py')}```\n")
    (change,) = changes("go on", blocked=blocked, step="S2", answers=(answer,)).changes

    (new,) = change.steps
    assert (change.op, change.step) == ("replace", "S2")
    assert (diffs_of_step(new), new.files, new.questions) == ([diff("src/a.py")], ("src/a.py",), ())


def test_research_that_answers_a_steps_question_clears_it() -> None:
    claim = Claim(text="x", citations=("file:src/a.py#L1-L2",), confidence=80)
    bundle = ResearchBundle(question="S2 cannot begin: Which?", summary="s", claims=(claim,))
    blocked = Blocked(kind="needs_research", question="Which?")
    (change,) = changes("go on", blocked=blocked, step="S2", inputs={"research": bundle}).changes

    assert change.steps[0].questions == ()
    assert change.steps[0].ctx.docs == ("file:src/a.py#L1-L2",)


def test_what_nobody_answered_is_asked_of_a_person() -> None:
    blocked = Blocked(kind="needs_plan_patch", question="What is the right patch?", suggested_ctx=("file:a",))
    found = replan_by_rule(order("plan_patch", "go on", plan=PLAN, blocked=blocked, step="S2"))

    assert found == blocked.changed(kind="needs_user_input")


def test_a_prompt_that_names_no_step_is_asked_back() -> None:
    found = replan_by_rule(order("plan_patch", "make it nicer", plan=PLAN))

    assert isinstance(found, Blocked)
    assert "(S1, S2, S3)" in found.question


def test_where_there_is_no_plan_all_of_it_is_added() -> None:
    (change,) = changes("- [ ] a\n- [ ] b\n", plan=None).changes

    assert (change.op, change.step, [one.title for one in change.steps]) == ("add", "", ["a", "b"])
