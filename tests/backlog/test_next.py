"""What to do next, and the reasons for it."""

from gitnexus.backlog.next import TaskRanking, rank_tasks, ranking_as_json
from gitnexus.backlog.tasks import Tasks
from tests.backlog.scene import NOW, World, task, tasks

BY_BOB = {"by": "bob", "until": "2026-02-01T13:00:00Z", "token": "t"}


def look(before: Tasks, who: str = "ada") -> TaskRanking:
    return rank_tasks(before, lambda: who, NOW, World(T1="done"))


def ids(found: TaskRanking) -> list[str]:
    return [one.task.id for one in found.candidates]


def test_priority_first_then_the_longest_chain_then_the_impact_then_the_number() -> None:
    before = tasks(
        task(1),
        task(2), task(20, depends=["T2"]), task(21, depends=["T20"]),
        task(3), *(task(n, depends=["T3"]) for n in range(30, 35)),
        task(4), task(40, depends=["T4"]),
        task(5, priority="critical"),
        task(6, priority="low"),
    )  # fmt: skip

    assert ids(look(before)) == ["T5", "T2", "T3", "T4", "T1", "T6"]


def test_the_choice_is_explained_and_the_next_two_are_told() -> None:
    before = tasks(
        task(1, priority="high"), task(2, depends=["T1"]), task(3, depends=["T2", "auth:T1"]), task(4), task(5)
    )

    found = ranking_as_json(look(before))

    assert found["task"]["id"] == "T1"
    assert found["why"] == [
        "it is ready: nothing that it depends on is open",
        "its priority is high",
        "it is on the critical path: the longest chain of open tasks, 3, begins with it",
        "2 tasks wait for it",
    ]
    assert [other["id"] for other in found["alternatives"]] == ["T4", "T5"]
    assert (found["ready"], found["blocked"], found["claimed"]) == (3, 2, 0)


def test_what_is_blocked_claimed_closed_or_has_open_children_is_no_candidate() -> None:
    before = tasks(
        task(1, status="blocked"), task(2, depends=["T1"]), task(3, depends=["auth:T1"]), task(4, depends=["auth:T2"]),
        task(5, status="done"), task(6, status="cancelled"), task(7, depends=["T6"]), task(8), task(9, parentId="T8"),
        task(10, claim=BY_BOB), task(11, claim={**BY_BOB, "until": "2026-02-01T11:00:00Z"}), task(12, depends=["T5"]),
    )  # fmt: skip

    found = look(before)

    assert ids(found) == ["T3", "T9", "T11", "T12"]
    assert (found.blocked, found.claimed, found.parents) == (4, 1, 1)


def test_what_one_has_claimed_comes_first() -> None:
    found = ranking_as_json(look(tasks(task(1, priority="critical"), task(2, priority="low", claim=BY_BOB)), who="bob"))

    assert found["task"]["id"] == "T2"
    assert found["why"][0] == "you have claimed it"


def test_a_cycle_is_named_and_the_rest_is_ranked() -> None:
    before = tasks(
        task(1, depends=["T2"]), task(2, depends=["T1"]), task(3, depends=["T1"]), task(4), task(5, depends=["T4"])
    )  # fmt: skip

    found = look(before)

    assert ids(found) == ["T4"]
    assert found.candidates[0].chain == 2
    assert found.cycles == [["T1", "T2"]]
    assert look(tasks(task(1, depends=["T2"]), task(2, depends=["T1"]))).why_no_candidate() == [
        "2 tasks wait for others or for what is in the way", "T1 → T2 → T1 wait for each other",
    ]  # fmt: skip


def test_nothing_to_do_is_said() -> None:
    assert ranking_as_json(look(tasks(task(1, status="done"))))["why"] == ["no task is open"]
    assert ranking_as_json(look(tasks(task(1, claim=BY_BOB))))["why"] == ["others have claimed 1 task"]
