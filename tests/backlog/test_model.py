"""A record keeps what it does not understand, and understands what it can."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.backlog.model import BacklogTask, id_sort_key, number_of_id
from gitnexus.base.canonical import json_document
from gitnexus.base.errors import Invalid

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)
FIELDS = [
    "status", "priority", "type", "parentId", "description", "labels", "files", "acceptance", "notes", "depends",
    "relates", "blockedBy", "phase", "size", "createdAt", "updatedAt", "completedAt", "cancelledAt", "rev", "uid",
    "claim", "aliases", "origin", "verification",
]  # fmt: skip
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=4), st.sampled_from(["done", "T1", "low"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
records = st.dictionaries(st.sampled_from(FIELDS), values, max_size=8).map(
    lambda found: {"id": "T1", "title": "a title", **found}
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(records)
def test_whatever_was_there_is_written_back_as_it_came(value: dict[str, Any]) -> None:
    assert BacklogTask.from_value(value, "x").plain() == value
    assert BacklogTask.from_bytes(json_document(value), "x").to_bytes() == json_document(value)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(records)
def test_a_change_touches_no_other_field(value: dict[str, Any]) -> None:
    after = BacklogTask.from_value(value, "x").changed(title="another", labels=("one",)).plain()

    assert after == {**value, "title": "another", "labels": ["one"]}


def test_fields_of_a_wrong_type_count_as_absent() -> None:
    task = BacklogTask.from_value(
        {"id": "T1", "title": "x", "labels": False, "status": "someday", "priority": 3, "depends": "T2",
         "files": ["a", 1], "parentId": "nobody", "relates": [{"taskId": "T2"}], "claim": {"by": "me"}, "rev": -1,
         "notes": None},
        "x",
    )  # fmt: skip

    assert (task.labels, task.status, task.priority, task.depends, task.files) == ((), "pending", "medium", (), ("a",))
    assert (task.parent_id, task.relates, task.claim, task.rev, task.notes) == (None, (), None, 0, ())
    assert task.shown() == {
        "id": "T1", "title": "x", "status": "pending", "priority": "medium", "type": "task", "labels": [],
        "files": ["a"], "acceptance": [], "notes": [], "depends": [], "relates": [], "rev": 0, "aliases": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", [[], "T1", {"id": "T1"}, {"id": "1", "title": "x"}, {"id": "T1", "title": 5}, {"title": "x"}]
)
def test_without_an_id_and_a_title_it_is_no_task(value: Any) -> None:
    with pytest.raises(Invalid, match=r"^backlog/T1\.json"):
        BacklogTask.from_value(value, "backlog/T1.json")


@pytest.mark.parametrize(
    ("until", "holds"),
    [("2026-02-01T12:00:01Z", True), ("2026-02-01T12:00:00Z", False), ("2026-02-01T13:30:00+01:00", True),
     ("2026-02-01T12:30:00", True), ("tomorrow", False), ("", False)],
)  # fmt: skip
def test_a_claim_holds_until_its_time(until: str, holds: bool) -> None:
    value = {"id": "T1", "title": "x", "claim": {"by": "ada", "until": until, "token": "t"}}

    assert BacklogTask.from_value(value, "x").held_by(NOW) == ("ada" if holds else None)


def test_ids_are_sorted_by_number_and_a_monstrous_one_is_not_counted_on() -> None:
    monstrous = "T" + "9" * 5000

    assert sorted(["T10", "T9", "T007", monstrous, "T7"], key=id_sort_key) == ["T7", "T007", "T9", "T10", monstrous]
    assert number_of_id(monstrous) == 0
