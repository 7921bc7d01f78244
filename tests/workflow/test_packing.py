"""Complexity units and batches."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.workflow.budget import (
    CostWeights,
    CountedContext,
    CountedPlan,
    CountedStep,
    StepCost,
    StepCounts,
    complexity_units,
    cost_of_step,
    files_matching,
    parse_counted_plan,
)
from gitnexus.workflow.packing import (
    BatchLimits,
    PackedBatch,
    batch_limits,
    group_into_batches,
    limits_broken_by,
    pack_plan,
    plan_with_splits,
)

SIZES = {"a.py": 100, "src/b.py": 2000, "src/c.py": 1500, "src/deep/d.py": 10, "docs/e.md": 5000}
NONE = BatchLimits(0, 0, 0, 0)

COSTS = st.builds(
    lambda name, units, kib, risk: StepCost(name, StepCounts(0, 0, 0, risk, 0), units, kib),
    st.uuids().map(str),
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(0, 3),
)
LIMITS = st.builds(BatchLimits, st.integers(12, 40), st.integers(1, 5), st.integers(12, 40), st.integers(3, 8))


def test_the_units_are_counted_as_the_formula_says() -> None:
    counts = StepCounts(files=3, directories=2, commands=4, risk=1, unresolved=2)

    assert complexity_units(counts, CostWeights()) == 2 * 3 + 3 * 2 + 4 + 5 * 1 + 4 * 2
    assert complexity_units(counts, CostWeights(files=1, directories=0, commands=0, risk=0, unresolved=0)) == 3
    assert complexity_units(StepCounts(0, 0, 0, 0, 0), CostWeights()) == 0


@given(st.builds(StepCounts, *[st.integers(0, 50)] * 5), st.builds(StepCounts, *[st.integers(0, 50)] * 5))
def test_more_of_anything_never_costs_less(one: StepCounts, other: StepCounts) -> None:
    both = StepCounts(*(first + second for first, second in zip(one, other, strict=True)))

    assert complexity_units(both, CostWeights()) == complexity_units(one, CostWeights()) + complexity_units(
        other, CostWeights()
    )


@pytest.mark.parametrize(
    ("patterns", "files"),
    [
        (["a.py"], ["a.py"]),
        (["./a.py", "a.py"], ["a.py"]),
        (["src"], ["src/b.py", "src/c.py", "src/deep/d.py"]),
        (["src/"], ["src/b.py", "src/c.py", "src/deep/d.py"]),
        (["src/*.py"], ["src/b.py", "src/c.py"]),
        (["**/*.py"], ["a.py", "src/b.py", "src/c.py", "src/deep/d.py"]),
        (["new/file.py"], ["new/file.py"]),
        (["new/*.py"], ["new/*.py"]),
        ([], []),
    ],
)
def test_patterns_mean_files_of_the_repository_or_new_ones(patterns: list[str], files: list[str]) -> None:
    assert files_matching(patterns, SIZES) == files


def test_a_step_is_counted_from_the_plan_and_the_repository() -> None:
    step = CountedStep(
        id="s",
        files=("src/*.py", "new/x.py"),
        commands=(("make", "test"),),
        risk=2,
        questions=("which one?",),
        ctx=CountedContext(paths=("docs", "a.py")),
    )

    found = cost_of_step(step, SIZES, CostWeights())

    assert found == StepCost("s", StepCounts(3, 2, 1, 2, 1), 2 * 3 + 3 * 2 + 1 + 5 * 2 + 4, 5)


@given(st.lists(COSTS, max_size=12), LIMITS)
def test_no_batch_breaks_a_limit_the_order_is_kept_and_nothing_is_lost(
    costs: list[StepCost], limits: BatchLimits
) -> None:
    found = group_into_batches(costs, limits)

    assert [step for batch in found for step in batch.steps] == [cost.step for cost in costs]
    for batch in found:
        assert batch.cu <= limits.cu
        assert batch.ctx_kib <= limits.ctx_kib
        assert batch.risk <= limits.risk
        assert 0 < len(batch.steps) <= limits.steps
    assert found == group_into_batches(costs, limits)


@given(st.lists(COSTS, max_size=12), LIMITS)
def test_a_batch_ends_only_where_the_next_step_would_break_a_limit(costs: list[StepCost], limits: BatchLimits) -> None:
    by_step = {cost.step: cost for cost in costs}
    for batch, after in pairwise(group_into_batches(costs, limits)):
        first = by_step[after.steps[0]]
        assert (
            batch.cu + first.cu > limits.cu
            or batch.ctx_kib + first.ctx_kib > limits.ctx_kib
            or batch.risk + first.counts.risk > limits.risk
            or len(batch.steps) + 1 > limits.steps
        )


def fewest(costs: list[StepCost], limits: BatchLimits) -> int:
    """The fewest batches of all ways to cut the list, tried one by one."""
    count = len(costs)
    best = count
    for cuts in range(2 ** max(0, count - 1)):
        groups: list[list[StepCost]] = [[]]
        for at, cost in enumerate(costs):
            if at and cuts >> (at - 1) & 1:
                groups.append([])
            groups[-1].append(cost)
        fits = all(
            sum(one.cu for one in group) <= limits.cu
            and sum(one.ctx_kib for one in group) <= limits.ctx_kib
            and sum(one.counts.risk for one in group) <= limits.risk
            and len(group) <= limits.steps
            for group in groups
        )
        best = min(best, len(groups)) if fits and costs else best
    return best


@given(st.lists(COSTS, max_size=8), LIMITS)
def test_there_is_no_way_with_fewer_batches(costs: list[StepCost], limits: BatchLimits) -> None:
    assert len(group_into_batches(costs, limits)) == fewest(costs, limits)


def test_nothing_is_no_limit() -> None:
    costs = [StepCost(str(at), StepCounts(0, 0, 0, 3, 0), 1000, 1000) for at in range(20)]

    assert len(group_into_batches(costs, NONE)) == 1
    assert limits_broken_by(costs[0], NONE) == ()


def plan(*steps: CountedStep) -> CountedPlan:
    return CountedPlan(id="p", steps=steps)


def test_a_step_that_is_too_big_is_to_be_split_and_what_comes_after_waits() -> None:
    small = CountedStep(id="one", files=("a.py",))
    big = CountedStep(id="two", files=("src", "docs/e.md", "docs/new.md"), commands=(("make",),))
    last = CountedStep(id="three")

    found = pack_plan(plan(small, big, last), SIZES, CostWeights(), BatchLimits(cu=10))

    assert found.batches == (PackedBatch(steps=("one",), cu=5, ctx_kib=0, risk=0),)
    assert found.held == ("two", "three")
    (split,) = found.splits
    assert (split.plan, split.step) == ("p", "two")
    assert [(one.limit, one.has, one.may) for one in split.over] == [("cu", 2 * 5 + 3 * 3 + 1, 10)]
    assert split.parts == (("docs/e.md", "docs/new.md"), ("src/b.py", "src/c.py"), ("src/deep/d.py",))
    assert split.why == "two takes 20 complexity units of 10; split it into steps that fit"


def test_what_no_split_of_files_can_mend_comes_without_a_proposal() -> None:
    risky = CountedStep(id="r", files=("a.py", "src/b.py"), risk=3)

    found = pack_plan(plan(risky), SIZES, CostWeights(), BatchLimits(risk=2))

    assert found.splits[0].parts == ()
    assert found.splits[0].over[0].limit == "risk"


@given(
    st.lists(
        st.builds(
            lambda id_, files, risk: CountedStep(id=id_, files=tuple(files), risk=risk),
            st.uuids().map(str),
            st.lists(st.sampled_from([*SIZES, "src", "new/a", "new/b", "**/*.py"]), max_size=6),
            st.integers(0, 3),
        ),
        max_size=6,
    ),
    st.builds(BatchLimits, st.integers(1, 40), st.integers(1, 4), st.integers(0, 10), st.integers(0, 4)),
)
def test_every_step_is_in_a_batch_or_waits_and_every_proposed_part_fits(
    steps: list[CountedStep], limits: BatchLimits
) -> None:
    made = plan(*steps)

    found = pack_plan(made, SIZES, CostWeights(), limits)

    assert [step for batch in found.batches for step in batch.steps] + list(found.held) == [step.id for step in steps]
    assert bool(found.held) == bool(found.splits)
    for split in found.splits:
        step = next(one for one in steps if one.id == split.step)
        assert split.over == limits_broken_by(cost_of_step(step, SIZES, CostWeights()), limits)
        if split.parts:
            assert sorted(path for part in split.parts for path in part) == files_matching(step.files, SIZES)
            assert not any(
                limits_broken_by(cost_of_step(step.changed(files=part), SIZES, CostWeights()), limits)
                for part in split.parts
            )
    again = pack_plan(plan_with_splits(made, found.splits), SIZES, CostWeights(), limits)
    assert [split.step for split in again.splits] == [split.step for split in found.splits if not split.parts]


def test_a_plan_can_be_split_as_proposed() -> None:
    big = CountedStep(id="two", files=("src", "docs/e.md"), commands=(("make",),), risk=1, baml={})
    made = plan(CountedStep(id="one"), big, CountedStep(id="two.1"))
    limits = BatchLimits(cu=18)

    found = plan_with_splits(made, pack_plan(made, SIZES, CostWeights(), limits).splits)

    assert [step.id for step in found.steps] == ["one", "two.1x", "two.2", "two.1"]
    assert found.steps[1].files == ("docs/e.md", "src/b.py", "src/c.py")
    assert found.steps[2].plain()["baml"] == {}
    assert all(step.commands == big.commands for step in found.steps[1:3])
    assert pack_plan(found, SIZES, CostWeights(), limits).held == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "steps is missing"),
        ({"steps": [{}]}, "id is missing"),
        ({"steps": [{"id": ""}]}, "steps[0]: id should have at least 1 character"),
        ({"steps": [{"id": "a"}, {"id": "a"}]}, "there are two steps a"),
        ({"steps": [{"id": "a", "risk": 4}]}, "risk should be at most 3"),
        ({"steps": [{"id": "a", "commands": ["make"]}]}, "should be a list"),
        ({"steps": [{"id": "a"}] * 1001}, "steps should have at most 1,000 items"),
    ],
)
def test_what_is_no_plan_is_refused(value: Any, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_counted_plan(value, "f")

    assert words in refused.value.message


def test_a_plan_keeps_what_budgets_do_not_read() -> None:
    value = {"id": "p", "goal": "x", "steps": [{"id": "a", "baml": {"fn": "ExecStep"}, "ctx": {"grep": ["x"]}}]}

    found = parse_counted_plan(value, "f")

    assert found.plain()["goal"] == "x"
    assert found.steps[0].plain()["baml"] == {"fn": "ExecStep"}
    assert found.steps[0].ctx.plain()["grep"] == ["x"]


def test_the_limits_of_a_batch_are_those_of_the_budgets() -> None:
    from gitnexus.workflow.definition import WorkflowBudgets

    assert batch_limits(WorkflowBudgets()) == BatchLimits()
