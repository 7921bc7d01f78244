"""Two clones that both made a T12 keep both tasks."""

from gitnexus.backlog.renumber import compute_new_ids, with_new_ids
from tests.backlog.scene import task


def test_what_was_published_keeps_its_number_and_ours_takes_the_next() -> None:
    theirs = {"T12": "theirs", "T13": "x"}
    ours = {"T1": "c", "T12": "ours", "T13": "y", "T14": "z"}

    assert compute_new_ids(ours, theirs, 14) == {"T12": "T15", "T13": "T16"}


def test_the_same_task_on_both_sides_stays() -> None:
    assert compute_new_ids({"T12": "u", "T5": "v"}, {"T12": "u", "T5": "v"}, 12) == {}


def test_a_task_that_they_know_under_another_number_follows_them() -> None:
    assert compute_new_ids({"T12": "b", "T13": "a"}, {"T12": "a", "T13": "b"}, 13) == {"T12": "T13", "T13": "T12"}


def test_a_record_that_was_copied_by_hand_is_not_taken_for_a_task_that_moved() -> None:
    assert compute_new_ids({"T1": "u", "T2": "u"}, {"T1": "u"}, 2) == {}


def test_all_that_speaks_of_a_moved_task_follows_it() -> None:
    ids = {"T12": "T15", "T13": "T16"}
    ours = [
        task(1, uid="c", depends=["T12"], rev=2),
        task(12, uid="ours", title="mine"),
        task(
            13, uid="y", parentId="T12", depends=["T12", "auth:T12"], relates=[{"taskId": "T12", "type": "duplicates"}]
        ),
    ]

    assert [with_new_ids(record, ids).plain() for record in ours] == [
        {"id": "T1", "title": "task 1", "rev": 2, "uid": "c", "depends": ["T15"]},
        {"id": "T15", "title": "mine", "rev": 1, "uid": "ours", "aliases": ["T12"]},
        {"id": "T16", "title": "task 13", "rev": 1, "uid": "y", "aliases": ["T13"], "parentId": "T15",
         "depends": ["T15", "auth:T12"], "relates": [{"taskId": "T15", "type": "duplicates"}]},
    ]  # fmt: skip
