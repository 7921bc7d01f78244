"""One task as two clones changed it."""

from datetime import timedelta
from typing import Any

import pytest

from gitnexus.backlog.fieldmerge import first_claim, merged_fields
from gitnexus.base.clock import stamp
from tests.backlog.scene import NOW

BASE = {"id": "T1", "title": "old", "status": "pending", "labels": ["a", "b"], "rev": 1, "x-other": 1}


def both(mine: dict[str, Any], theirs: dict[str, Any], base: dict[str, Any] = BASE) -> dict[str, Any]:
    return merged_fields(base, {**base, **mine}, {**base, **theirs}, NOW)


def test_each_side_keeps_the_field_that_only_it_changed() -> None:
    found = both({"title": "mine", "rev": 2}, {"priority": "high", "x-other": 2, "rev": 3})

    assert found == {**BASE, "title": "mine", "priority": "high", "x-other": 2, "rev": 3}


def test_the_side_with_more_changes_has_the_field_that_both_changed() -> None:
    assert both({"title": "mine", "rev": 5}, {"title": "theirs", "rev": 2})["title"] == "mine"
    assert both({"title": "mine", "rev": 2}, {"title": "theirs", "rev": 5})["title"] == "theirs"


def test_with_as_many_changes_everybody_decides_alike() -> None:
    assert both({"title": "x", "rev": 2}, {"title": "y", "rev": 2}) == both(
        {"title": "y", "rev": 2}, {"title": "x", "rev": 2}
    )


def test_lists_are_sets_what_either_added_is_there_and_what_either_removed_is_not() -> None:
    found = both({"labels": ["a", "b", "mine"], "rev": 2}, {"labels": ["b", "theirs"], "rev": 2})

    assert found["labels"] == ["b", "theirs", "mine"]


def test_a_status_comes_with_its_times() -> None:
    found = both({"status": "done", "completedAt": "2026-01-01T00:00:00Z", "rev": 3}, {"title": "theirs", "rev": 9})

    assert (found["status"], found["completedAt"], found["title"]) == ("done", "2026-01-01T00:00:00Z", "theirs")


def claim(by: str, hours: int = 1, token: str = "") -> dict[str, str]:
    return {"by": by, "until": stamp(NOW + timedelta(hours=hours)), "token": token or by}


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
