"""Two clones that both made a T12 keep both tasks."""

from gitnexus.backlog.delete import buried
from gitnexus.backlog.renumber import renumbered
from gitnexus.backlog.tasks import Tasks
from tests.backlog.scene import NOW, task


def test_what_was_published_keeps_its_number_and_ours_moves_with_all_that_speaks_of_it() -> None:
    common = task(1, uid="c")
    theirs = Tasks.of([common, task(12, uid="theirs"), task(13, uid="x", depends=["T12"])])
    ours = [
        task(1, uid="c", depends=["T12"], rev=2),
        task(12, uid="ours", title="mine"),
        task(
            13, uid="y", parentId="T12", depends=["T12", "auth:T12"], relates=[{"taskId": "T12", "type": "duplicates"}]
        ),
        task(14, uid="z", depends=["T13"]),
    ]

    found = renumbered(theirs, ours)

    assert found.numbers == {"T12": "T15", "T13": "T16"}
    assert [record.plain() for record in found.records] == [
        {"id": "T1", "title": "task 1", "rev": 2, "uid": "c", "depends": ["T15"]},
        {"id": "T15", "title": "mine", "rev": 1, "uid": "ours", "aliases": ["T12"]},
        {"id": "T16", "title": "task 13", "rev": 1, "uid": "y", "aliases": ["T13"], "parentId": "T15",
         "depends": ["T15", "auth:T12"], "relates": [{"taskId": "T15", "type": "duplicates"}]},
        {"id": "T14", "title": "task 14", "rev": 1, "uid": "z", "depends": ["T16"]},
    ]  # fmt: skip
    assert theirs.with_rows(found.records).task("T15").title == "mine"


def test_a_task_made_and_deleted_here_does_not_bury_theirs() -> None:
    stone = buried(task(12, uid="ours"), NOW)

    found = renumbered(Tasks.of([task(12, uid="theirs")]), [stone])

    assert [record.id for record in found.records] == ["T13"]


def test_the_same_task_on_both_sides_stays() -> None:
    ours = [task(12, uid="u", rev=3), task(5, createdAt="2026-01-01T00:00:00Z")]

    found = renumbered(Tasks.of([task(12, uid="u"), task(5, createdAt="2026-01-01T00:00:00Z")]), ours)

    assert (found.records, found.numbers) == (ours, {})
