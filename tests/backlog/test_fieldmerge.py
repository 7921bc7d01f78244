"""One task as two clones changed it."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.backlog.fieldmerge import first_claim, merge_task_fields
from gitnexus.backlog.stamps import with_stamps
from gitnexus.base.clock import format_timestamp
from tests.backlog.scene import NOW

BASE = {"id": "T1", "title": "old", "status": "pending", "labels": ["a", "b"], "rev": 1, "x-other": 1}


def both(mine: dict[str, Any], theirs: dict[str, Any], base: dict[str, Any] = BASE) -> dict[str, Any]:
    return merge_task_fields(base, {**base, **mine}, {**base, **theirs}, NOW)


def test_each_side_keeps_the_field_that_only_it_changed() -> None:
    found = both({"title": "mine", "rev": 2}, {"priority": "high", "x-other": 2, "rev": 3})

    stamps = {"title": 2, "priority": 3, "x-other": 3}
    assert found == {**BASE, "title": "mine", "priority": "high", "x-other": 2, "rev": 3, "stamps": stamps}


def test_the_side_with_more_changes_has_the_field_that_both_changed() -> None:
    assert both({"title": "mine", "rev": 5}, {"title": "theirs", "rev": 2})["title"] == "mine"
    assert both({"title": "mine", "rev": 2}, {"title": "theirs", "rev": 5})["title"] == "theirs"


def test_with_as_many_changes_everybody_decides_alike() -> None:
    assert both({"title": "x", "rev": 2}, {"title": "y", "rev": 2}) == both(
        {"title": "y", "rev": 2}, {"title": "x", "rev": 2}
    )


def test_lists_are_sets_what_either_added_is_there_and_what_either_removed_is_not() -> None:
    found = both({"labels": ["a", "b", "mine"], "rev": 2}, {"labels": ["b", "theirs"], "rev": 2})

    assert found["labels"] == ["b", "mine", "theirs"]


def test_a_status_comes_with_its_times() -> None:
    found = both({"status": "done", "completedAt": "2026-01-01T00:00:00Z", "rev": 3}, {"title": "theirs", "rev": 9})

    assert (found["status"], found["completedAt"], found["title"]) == ("done", "2026-01-01T00:00:00Z", "theirs")


def claim(by: str, hours: int = 1, token: str = "") -> dict[str, str]:
    return {"by": by, "until": format_timestamp(NOW + timedelta(hours=hours)), "token": token or by}


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "whose"),
    [
        (None, claim("me"), claim("them"), "them"),
        (None, claim("me"), None, "me"),
        (None, None, claim("them"), "them"),
        (None, claim("me"), claim("them", -1), "me"),
        (None, claim("me", -1), claim("them", -1), "them"),
        (claim("me"), claim("me", 5), None, "me"),
        (claim("me"), claim("me"), None, None),
        (claim("me"), claim("me", 5, "me"), claim("me", 2, "me"), "me"),
        (claim("old", -1), claim("me"), claim("them"), "them"),
    ],
)
def test_a_claim_goes_to_the_first_that_holds(base: Any, mine: Any, theirs: Any, whose: str | None) -> None:
    found = first_claim(base, mine, theirs, NOW)

    assert (found and found["by"]) == whose


def test_a_write_counts_beyond_all_it_knew_and_marks_what_it_changed() -> None:
    before = {**BASE, "rev": 7, "stamps": {"title": 3}}

    found = with_stamps(before, {**before, "status": "done", "completedAt": "now", "labels": ["z"], "x-other": None})

    assert (found["rev"], found["stamps"]) == (8, {"title": 3, "status": 8, "x-other": 8})
    assert with_stamps(found, {**found, "rev": 20})["rev"] == 20  # by hand, and higher: never back


def test_a_field_goes_to_its_later_change_and_not_to_the_busier_task() -> None:
    busy = {**BASE, "title": "early", "rev": 9, "stamps": {"title": 2, "priority": 9}, "priority": "low"}
    late = {**BASE, "title": "late", "rev": 5, "stamps": {"title": 5}}

    for mine, theirs in ((busy, late), (late, busy)):
        found = merge_task_fields(BASE, mine, theirs, NOW)
        assert (found["title"], found["priority"], found["rev"]) == ("late", "low", 9)


@st.composite
def changed(draw: st.DrawFn) -> dict[str, Any]:
    """A task as some clone made it of the one they all began with, by a few writes."""
    task: dict[str, Any] = BASE
    for _ in range(draw(st.integers(0, 4))):
        labels = [*task["labels"], draw(st.sampled_from("cdefg"))]
        labels = draw(st.sampled_from([labels, task["labels"][1:], task["labels"]]))
        after = {**task, "labels": labels, **draw(st.sampled_from([
            {"title": draw(st.sampled_from(["old", "x", "y", "z"]))}, {"priority": draw(st.sampled_from("hl"))},
            {"status": "done", "completedAt": "1"}, {"status": "pending", "completedAt": None}, {"x-other": None}, {},
        ]))}  # fmt: skip
        after = {key: value for key, value in after.items() if value is not None}
        # Some write as an older version does, which counts the task and not its fields.
        task = with_stamps(task, after) if draw(st.booleans()) else {**after, "rev": task["rev"] + 1}
    return {**task, "labels": list(dict.fromkeys(task["labels"]))}


def meet(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return merge_task_fields(BASE, one, other, NOW)


@given(changed(), changed(), changed())
def test_it_does_not_matter_who_meets_whom_first_or_how_often(
    one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]
) -> None:
    together = meet(meet(one, two), three)

    assert meet(one, two) == meet(two, one)
    assert together == meet(one, meet(two, three)) == meet(meet(three, one), two)
    assert meet(together, together) == together == meet(together, two)
    assert together["rev"] == max(one["rev"], two["rev"], three["rev"])
