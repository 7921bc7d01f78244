"""What may be said about tasks, what is refused, and what each change leaves behind."""

import pytest

from gitnexus.backlog.add import decide_addition
from gitnexus.backlog.close import decide_cancellation, decide_completion, stuck_dependents
from gitnexus.backlog.delete import decide_deletion
from gitnexus.backlog.fields import TaskFields
from gitnexus.backlog.graph import Cyclic
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.relate import decide_relation, decide_relation_removal
from gitnexus.backlog.tasks import Tasks
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.backlog.update import decide_update
from gitnexus.base.errors import BadReference, Invalid, NexusError, NotFound
from tests.backlog.scene import ALONE, NOW, STAMP, World, task, tasks


def add(before: Tasks, **fields: object) -> BacklogTask:
    return decide_addition(before, TaskFields.of({"title": "new", **fields}), NOW, "uid", ALONE).value


def update(before: Tasks, one: str, less: dict[str, object] | None = None, **more: object) -> BacklogTask:
    root = bool(more.pop("to_root", False))
    return decide_update(before, one, TaskFields.of(more), TaskFields.of(less or {}), NOW, ALONE, to_root=root).value


def test_a_new_task_has_the_next_number_and_all_that_was_said() -> None:
    made = decide_addition(
        tasks(task(1), task(7)),
        TaskFields.of({"title": " Sign in ", "labels": ["a", "b", "a"], "files": ["x.py"],
                   "depends": ["T1", ".:T7", "auth:T3"],
                   "priority": "high", "description": "long", "notes": ["n"], "acceptance": ["works"]}),
        NOW, "0123", ALONE,
    )  # fmt: skip

    assert made.why == "backlog: add T8 Sign in"
    assert made.value.plain() == {
        "id": "T8", "title": "Sign in", "status": "pending", "priority": "high", "type": "task", "description": "long",
        "labels": ["a", "b"], "files": ["x.py"], "acceptance": ["works"], "notes": ["n"],
        "depends": ["T1", "T7", "auth:T3"], "createdAt": STAMP, "updatedAt": STAMP, "rev": 1, "uid": "0123",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"title": "  "}, Invalid, "a task needs a title"),
        ({"title": "x" * 121}, Invalid, "the title has 121 characters, 120 are the most"),
        ({"title": "two\nlines"}, Invalid, "control or invisible"),
        ({"title": "x\x1b[2J"}, Invalid, "control or invisible"),
        ({"depends": ["T9"]}, NotFound, "no task T9"),
        ({"depends": ["T3"]}, NotFound, "T3 was deleted"),
        ({"depends": ["t1"]}, BadReference, "'t1' is not a reference"),
        ({"depends": ["*:T1"]}, Invalid, "every project"),
        ({"parent": "T9"}, NotFound, "no task T9"),
        ({"parent": "auth:T1"}, Invalid, "another project"),
        ({"parent": "T2"}, Invalid, "T2 is done"),
        ({"labels": [" "]}, Invalid, "a label should not be empty"),
        ({"status": "done"}, Invalid, "a new task cannot be done"),
    ],
)
def test_what_cannot_be_added_is_refused(fields: dict[str, object], kind: type[NexusError], words: str) -> None:
    stone = Tombstone(id="T3", title="gone", deleted_at=STAMP)
    before = Tasks.of([task(1), task(2, status="done"), stone])

    with pytest.raises(kind, match=words):
        add(before, **fields)


def test_three_levels_and_no_more() -> None:
    before = tasks(
        task(1, type="epic"), task(2, parentId="T1"), task(3, parentId="T2"), task(4), task(5, parentId="T4")
    )

    assert add(before, parent="T1").type == "task"
    assert add(before, parent="T2").type == "subtask"
    with pytest.raises(Invalid, match="T3 is 3 levels deep"):
        add(before, parent="T3")
    with pytest.raises(Invalid, match="below T2 this would be 4 levels deep"):
        update(before, "T4", parent="T2")
    assert update(before, "T5", parent="T2").parent_id == "T2"
    assert update(before, "T3", to_root=True).parent_id is None


@pytest.mark.parametrize(("one", "parent"), [("T1", "T1"), ("T1", "T2")])
def test_nobody_is_below_itself(one: str, parent: str) -> None:
    with pytest.raises(Invalid, match=f"{one} cannot be below {parent}"):
        update(tasks(task(1), task(2, parentId="T1")), one, parent=parent)


def test_a_ring_of_dependencies_is_refused_by_its_names() -> None:
    before = tasks(task(1), task(2, depends=["T1"]), task(3, depends=["T2", "auth:T1"]))

    with pytest.raises(Cyclic) as refused:
        update(before, "T1", depends=["T3"])
    with pytest.raises(Cyclic, match="a cycle: T1 → T1"):
        update(before, "T1", depends=["here:T1"])

    assert refused.value.cycle == ["T1", "T3", "T2"]
    assert refused.value.message == "a cycle: T1 → T3 → T2 → T1"
    assert refused.value.code == 6


def test_a_parent_waits_for_its_children_so_they_cannot_wait_for_it() -> None:
    before = tasks(task(1), task(2, depends=["T1"]), task(3, parentId="T1"))

    with pytest.raises(Cyclic):
        add(before, parent="T1", depends=["T2"])
    with pytest.raises(Cyclic):
        update(before, "T2", parent="T1")
    with pytest.raises(Cyclic):
        update(before, "T3", depends=["T2"])


def test_an_update_adds_to_lists_takes_away_and_moves_the_clock_of_the_record() -> None:
    before = tasks(task(1), task(2, labels=["a", "b"], depends=["T1", "auth:T9"], notes=["first"], rev=4, odd={"x": 1}))

    after = update(
        before,
        "T2",
        {"labels": ["a"], "depends": ["auth:T9"]},
        labels=["c"],
        notes=["second"],
        title="other",
        size="small",
    )

    assert after.plain() == {
        "id": "T2", "title": "other", "labels": ["b", "c"], "depends": ["T1"], "notes": ["first", "second"],
        "size": "small", "rev": 5, "updatedAt": STAMP, "odd": {"x": 1},
    }  # fmt: skip
    with pytest.raises(Invalid, match="T2 does not depend on T8"):
        update(before, "T2", {"depends": ["T8"]})


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    before = tasks(task(1, labels=["a"]))

    assert decide_update(before, "T1", TaskFields(labels=("a",)), TaskFields(), NOW, ALONE).records == []


def test_a_task_is_blocked_by_a_reason_and_freed_of_it() -> None:
    blocked = update(tasks(task(1)), "T1", blocked_by="the vendor")
    free = update(tasks(blocked), "T1", status="pending")

    assert (blocked.status, blocked.blocked_by) == ("blocked", "the vendor")
    assert (free.status, free.blocked_by, free.rev) == ("pending", None, 3)


def test_completing_is_refused_with_the_list_of_what_is_open() -> None:
    before = tasks(
        task(1), task(2, status="cancelled"), task(3, status="done"), task(5, parentId="T4"),
        task(6, parentId="T4", status="done"), task(4, depends=["T1", "T2", "T3", "auth:T1", "auth:T2", "T99"]),
    )  # fmt: skip

    with pytest.raises(Invalid) as refused:
        decide_completion(before, "T4", NOW, World(T1="done", T2="active"))

    assert refused.value.message == (
        "T4 cannot be completed: T1 is pending, T2 is cancelled, auth:T2 is active, T99 does not exist, "
        "T5 below it is pending"
    )
    assert refused.value.context == {"dependencies": ["T1", "T2", "auth:T2", "T99"], "children": ["T5"]}


def test_a_completed_task_says_when_and_lets_its_claim_go() -> None:
    claim = {"by": "ada", "until": "2026-02-01T13:00:00Z", "token": "t"}
    before = tasks(task(1, status="done"), task(2, depends=["T1", "auth:T1"], claim=claim))

    made = decide_completion(before, "T2", NOW, World(T1="done"), "went well")

    assert made.why == "backlog: complete T2 task 2"
    assert made.value.plain() == {
        "id": "T2", "title": "task 2", "depends": ["T1", "auth:T1"], "status": "done", "completedAt": STAMP,
        "updatedAt": STAMP, "notes": ["went well"], "rev": 2,
    }  # fmt: skip
    assert decide_completion(tasks(made.value, task(1, status="done")), "T2", NOW, ALONE).records == []


def test_the_status_done_is_reached_by_the_same_rules() -> None:
    before = tasks(task(1), task(2, depends=["T1"]))

    with pytest.raises(Invalid, match="T2 cannot be completed: T1 is pending"):
        update(before, "T2", status="done")
    assert update(before, "T2", {"depends": ["T1"]}, status="done").completed_at == STAMP
    assert update(before, "T1", status="cancelled").cancelled_at == STAMP


def test_opening_again_forgets_the_end() -> None:
    before = tasks(task(1, status="done", completedAt=STAMP), task(2, status="cancelled", parentId="T1"))

    assert update(before, "T1", status="pending").plain() == {
        "id": "T1", "title": "task 1", "status": "pending", "rev": 2, "updatedAt": STAMP,
    }  # fmt: skip
    with pytest.raises(Invalid, match="T1 above it is done"):
        update(before, "T2", status="active")


def test_cancelling_a_parent_takes_its_open_children_only_if_that_is_said() -> None:
    before = tasks(
        task(1), task(2, parentId="T1"), task(3, parentId="T2"), task(4, parentId="T1", status="done"),
        task(5, depends=["T3"]),
    )  # fmt: skip

    with pytest.raises(Invalid, match="T2 below it is pending, T3 below it is pending"):
        decide_cancellation(before, "T1", NOW)
    gone = decide_cancellation(before, "T1", NOW, "no longer needed", with_children=True)

    assert [one.id for one in gone.records] == ["T1", "T2", "T3"]
    assert gone.value[0].cancellation_reason == "no longer needed"
    assert [one.id for one in stuck_dependents(before.with_rows(gone.records), gone.value)] == ["T5"]


def test_deleting_leaves_a_tombstone_and_the_number_is_never_given_again() -> None:
    made = decide_deletion(tasks(task(1), task(9, uid="u", rev=3)), "T9", NOW)

    stone = made.records[0]
    assert isinstance(stone, Tombstone)
    assert stone.plain() == {
        "id": "T9", "title": "task 9", "deletedAt": STAMP, "tombstone": True, "uid": "u", "rev": 4
    }  # fmt: skip
    assert Tasks.of([task(1), stone]).next_id() == "T10"
    with pytest.raises(NotFound, match="T9 was deleted"):
        Tasks.of([task(1), stone]).task("T9")


def test_deleting_what_others_need_is_refused_unless_they_let_go() -> None:
    relation = {"taskId": "T1", "type": "duplicates"}
    before = tasks(task(1), task(2, depends=["T1", "T4"]), task(3, parentId="T1"), task(4, relates=[relation]))

    with pytest.raises(Invalid) as refused:
        decide_deletion(before, "T1", NOW)
    made = decide_deletion(before, "T1", NOW, force=True)

    assert refused.value.message == "T1 cannot be deleted: T2 depends on it, T3 is below it"
    after = before.with_rows(made.records)
    assert [one.id for one in made.value] == ["T2", "T3", "T4"]
    assert after.task("T2").depends == ("T4",)
    assert after.task("T3").parent_id is None
    assert after.task("T4").relates == ()


def test_relations_are_kept_once_a_pair_and_kind() -> None:
    before = tasks(task(1), task(2))

    first = decide_relation(before, "T1", "T2", "duplicates", None, NOW, ALONE).value
    again = decide_relation(tasks(first, task(2)), "T1", "here:T2", "duplicates", "same bug", NOW, ALONE).value
    other = decide_relation(tasks(again, task(2)), "T1", "auth:T5", "relates-to", None, NOW, ALONE).value

    assert other.plain()["relates"] == [
        {"taskId": "T2", "type": "duplicates", "reason": "same bug"}, {"taskId": "auth:T5", "type": "relates-to"},
    ]  # fmt: skip
    assert [
        one.task_id for one in decide_relation_removal(tasks(other), "T1", "auth:T5", NOW, ALONE).value.relates
    ] == ["T2"]
    with pytest.raises(Invalid, match="itself"):
        decide_relation(before, "T1", "T1", "duplicates", None, NOW, ALONE)
    with pytest.raises(NotFound, match="T2 is not related to T1"):
        decide_relation_removal(before, "T2", "T1", NOW, ALONE)


def test_a_task_is_found_by_the_id_it_had_before() -> None:
    before = tasks(task(13, aliases=["T12"]), task(14, depends=["T12"]))

    assert before.task("T12").id == "T13"
    with pytest.raises(Invalid, match="T12 is pending"):
        decide_completion(before, "T14", NOW, ALONE)
