"""Histories of two clones."""

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.cycle.merge_clones import merge_history_bytes


def cycle(at: str, branch: str = "main") -> dict[str, object]:
    return {"completed_at": at, "branch": branch, "plan": None, "tasks": [], "schema_version": "1.0"}


def history(*cycles: dict[str, object]) -> bytes:
    return json_document({"cycles": list(cycles), "schema_version": "1.0"})


def test_every_cycle_of_both_is_there_once_the_oldest_first() -> None:
    one, two, three, four = (cycle(f"2026-01-0{day}T00:00:00Z") for day in (1, 2, 3, 4))

    found = merge_history_bytes(history(one), history(one, two, four), history(one, three, four))

    assert parse_json(found)["cycles"] == [one, two, three, four]


def test_it_does_not_matter_who_merges() -> None:
    one, two, three = (cycle("2026-01-01T00:00:00Z", name) for name in "abc")

    assert merge_history_bytes(history(one), history(one, two), history(one, three)) == merge_history_bytes(
        history(one), history(one, three), history(one, two)
    )


def test_a_cycle_that_was_corrected_by_hand_does_not_come_back() -> None:
    wrong, right, more = cycle("2026-01-01T00:00:00Z", "x"), cycle("2026-01-01T00:00:00Z", "y"), cycle("2026-01-02")

    found = merge_history_bytes(history(wrong), history(right), history(wrong, more))

    assert parse_json(found)["cycles"] == [right, more]
