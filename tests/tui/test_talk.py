"""What a request takes along is bounded, however long the conversation was."""

from gitnexus.tui.talk import MOST_REFS, Asked, carried, refs_in, request


def test_files_and_own_tasks_of_a_request_become_references() -> None:
    text = "do T12 and shop:T3 as in @docs/plan.md, not other:T4; mail me@example.com about XT5"

    assert refs_in(text, {"shop"}) == ("file:docs/plan.md", "task:T12", "task:T3")


def test_many_references_are_cut() -> None:
    assert len(refs_in(" ".join(f"@f{n}" for n in range(50)), ())) == MOST_REFS


def test_a_request_after_a_thousand_others_is_no_longer_than_one_after_three() -> None:
    many = [Asked("word " * 500, f"r{n}", "completed") for n in range(1000)]

    assert len(request("now this", many)) == len(request("now this", many[:3])) + 3 * 2  # r997 is longer than r0
    assert len(request("now this", many)) < 800


def test_the_first_request_stands_alone() -> None:
    assert request("do it", []) == "do it"


def test_what_the_last_run_kept_is_carried_on_by_reference() -> None:
    asked = [Asked("a", "r1", "completed", ("plan.json",)), Asked("b", "r2", "failed"), Asked("c")]

    assert carried(asked) == ("artifact:r1/plan.json",)
    assert carried([]) == ()
