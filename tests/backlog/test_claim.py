"""Claims: one gets it, for a time."""

from datetime import timedelta

import pytest

from gitnexus.backlog.claim import decide_claim, decide_release, parse_claim_duration
from gitnexus.backlog.claimant import Claimant, agent_claimant, person_claimant
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import Busy, Invalid, NotFound
from tests.backlog.scene import NOW, task, tasks

HOUR = timedelta(hours=1)
ADA, BOB, EVA = agent_claimant("ada"), agent_claimant("bob"), person_claimant("Eva")


def claim(before: Tasks, who: Claimant, minutes: int = 0, token: str = "t", **how: bool) -> BacklogTask:
    return decide_claim(before, "T1", who, HOUR, NOW + timedelta(minutes=minutes), token, **how).value


def test_the_second_is_told_who_has_it_and_until_when() -> None:
    mine = claim(tasks(task(1)), ADA)

    with pytest.raises(Busy) as refused:
        claim(tasks(mine), BOB, minutes=59)

    assert mine.plain()["claim"] == {"by": "ada", "until": "2026-02-01T13:00:00Z", "token": "t"}
    assert refused.value.message == "T1 is claimed by ada until 2026-02-01T13:00:00Z"
    assert refused.value.context == {"by": "ada", "until": "2026-02-01T13:00:00Z"}


def test_a_claim_that_has_run_out_may_be_taken() -> None:
    mine = claim(tasks(task(1)), ADA)

    assert claim(tasks(mine), BOB, minutes=60, token="new").plain()["claim"]["by"] == "bob"


def test_an_agent_goes_on_with_its_own_claim_and_keeps_its_token() -> None:
    mine = claim(tasks(task(1)), ADA, token="first")

    again = claim(tasks(mine), ADA, minutes=30, token="second")

    assert again.plain()["claim"] == {"by": "ada", "until": "2026-02-01T13:30:00Z", "token": "first"}


def test_a_person_in_two_terminals_gets_it_once_and_says_so_to_go_on() -> None:
    mine = claim(tasks(task(1)), EVA)

    with pytest.raises(Busy) as refused:
        claim(tasks(mine), EVA)

    assert refused.value.hint == "if that is you: git nexus task claim T1 --renew"
    assert claim(tasks(mine), EVA, minutes=5, renew=True).plain()["claim"]["until"] == "2026-02-01T13:05:00Z"


def test_nobody_renews_what_is_not_claimed_and_force_takes_it() -> None:
    with pytest.raises(NotFound, match="T1 is not claimed"):
        claim(tasks(task(1)), EVA, renew=True)

    taken = claim(tasks(claim(tasks(task(1)), ADA)), BOB, token="new", force=True)

    assert taken.plain()["claim"] == {"by": "bob", "until": "2026-02-01T13:00:00Z", "token": "new"}


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_a_closed_task_has_nothing_left_to_claim(status: str) -> None:
    with pytest.raises(Invalid, match=f"T1 is {status}"):
        claim(tasks(task(1, status=status)), ADA)


def test_a_claim_is_let_go_by_who_has_it() -> None:
    mine = tasks(claim(tasks(task(1)), ADA))

    with pytest.raises(Busy):
        decide_release(mine, "T1", BOB, NOW)
    with pytest.raises(NotFound):
        decide_release(tasks(task(1)), "T1", ADA, NOW)
    assert "claim" not in decide_release(mine, "T1", ADA, NOW).value.plain()
    assert "claim" not in decide_release(mine, "T1", BOB, NOW + HOUR).value.plain()
    assert "claim" not in decide_release(mine, "T1", BOB, NOW, force=True).value.plain()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86_400), (" 5m ", 300)])
def test_times_as_people_write_them(text: str, seconds: int) -> None:
    assert parse_claim_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "0m", "-5m", "1w", "1.5h", "31d", "99999999h", "٥m"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(Invalid, match="not a valid time for a claim"):
        parse_claim_duration(text)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[2J", "x" * 101])
def test_a_name_of_an_agent_is_one_plain_line(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be the name of an agent"):
        agent_claimant(name)


def test_a_claim_goes_on_with_the_task_that_was_claimed_when_a_sync_gave_its_number_to_another() -> None:
    mine = claim(tasks(task(1)), ADA).changed(id="T2", aliases=("T1",))
    after = tasks(task(1), mine)

    assert claim(after, ADA, minutes=30, renew=True).id == "T2"
    assert decide_release(after, "T1", ADA, NOW).value.id == "T2"
    with pytest.raises(NotFound):
        decide_release(after, "T1", BOB, NOW)


def test_claiming_again_by_the_old_number_takes_no_other_task() -> None:
    agents = tasks(task(1), claim(tasks(task(1)), ADA).changed(id="T2", aliases=("T1",)))
    persons = tasks(task(1), claim(tasks(task(1)), EVA).changed(id="T2", aliases=("T1",)))

    assert claim(agents, ADA, minutes=30).id == "T2"
    assert claim(agents, BOB).id == "T1"
    assert claim(agents, ADA, minutes=61).id == "T1"
    with pytest.raises(Busy, match="T2 is claimed by Eva") as refused:
        claim(persons, EVA)
    assert refused.value.hint == (
        "if that is you: git nexus task claim T2 --renew; the task that is T1 now: git nexus task claim T1 --force"
    )
    assert claim(persons, EVA, force=True).id == "T1"
