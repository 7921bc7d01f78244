"""What a request takes along is bounded, however long the conversation was."""

from gitnexus.tui.prompt_context import (
    MOST_REFS,
    EarlierRequest,
    prompt_with_context,
    references_in_text,
    references_to_last_run,
)


def test_files_and_own_tasks_of_a_request_become_references() -> None:
    text = "do T12 and shop:T3 as in @docs/plan.md, not other:T4; mail me@example.com about XT5"

    assert references_in_text(text, {"shop"}) == ("file:docs/plan.md", "task:T12", "task:T3")


def test_a_request_names_tasks_by_the_names_that_projects_have() -> None:
    text = "do My:T1, .:T2 and my_api:T3. Not my.api:T4, My:T5:x, a/My:T6, My:T7.py, T8-b or *:T9"

    assert references_in_text(text, {"My", "my_api", "my.api", "api"}) == ("task:T1", "task:T2", "task:T3")


def test_many_references_are_cut() -> None:
    assert len(references_in_text(" ".join(f"@f{n}" for n in range(50)), ())) == MOST_REFS


def test_a_request_after_a_thousand_others_is_no_longer_than_one_after_three() -> None:
    many = [EarlierRequest("word " * 500, f"r{n}", "completed") for n in range(1000)]

    assert (
        len(prompt_with_context("now this", many)) == len(prompt_with_context("now this", many[:3])) + 3 * 2
    )  # r997 is longer than r0
    assert len(prompt_with_context("now this", many)) < 800


def test_the_first_request_stands_alone() -> None:
    assert prompt_with_context("do it", []) == "do it"


def test_what_the_last_run_kept_is_carried_on_by_reference() -> None:
    asked = [
        EarlierRequest("a", "r1", "completed", ("plan.json",)),
        EarlierRequest("b", "r2", "failed"),
        EarlierRequest("c"),
    ]

    assert references_to_last_run(asked) == ("artifact:r1/plan.json",)
    assert references_to_last_run([]) == ()
