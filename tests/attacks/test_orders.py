"""A signed order is carried out once, and not after its time; a worker's log counts if somebody vouches for it."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.policy.trust import signer_for_repo
from gitnexus.projects.open_state import open_state
from gitnexus.runs.actions.approve import deny_action
from gitnexus.runs.order import QUEUE, RunOrder
from gitnexus.runs.start import RunRequest
from gitnexus.sync.remote import resolve_remote
from gitnexus.workers.queue import enqueue_run, push_order
from gitnexus.workers.worker import QueueWorker, last_error_lines
from gitnexus.workflow.run_definition import definition_from_command
from tests.attacks.machines import Machine
from tests.attacks.test_forged_history import CANCELLED, forge
from tests.conftest import run_git


def order(machine: Machine, script: str = "true", **changed: str | None) -> RunOrder:
    """Put an order into the queue, signed by who sits at a machine."""
    with machine.here():
        state = open_state(machine.place)
        wire = resolve_remote(state, None)
        made = enqueue_run(state, wire, RunRequest(definition_from_command(("sh", "-c", script)), "an order"), (), "")
        if changed:
            run_git(machine.place, "push", "-q", "origin", f":{QUEUE}{made.id}")
            made = made.changed(**changed, signature="").signed(signer_for_repo(state.repo))
            push_order(state, wire, made)
        state.close()
    return made


def work(machine: Machine, lease: float = 5) -> tuple[list[str], list[str]]:
    """Let a worker empty the queue; return what it carried out, and what it said."""
    said: list[str] = []
    with machine.here():
        state = open_state(machine.place)
        worker = QueueWorker(state, resolve_remote(state, None), "w", frozenset(), said.append, lease, 0.05, True)
        worker.work()
        state.close()
    return worker.done, said


def test_an_order_that_expired_is_left_alone(ada: Machine) -> None:
    late = order(ada, expires=format_timestamp(utc_now() - timedelta(seconds=1)))
    old = order(ada, expires=None, created=format_timestamp(utc_now() - timedelta(days=8)))

    done, said = work(ada)

    assert done == []
    assert sorted(said) == sorted(f"{one.id} is left in the queue: the order for {one.id} expired"
                                  for one in (late, old))  # fmt: skip


def test_an_order_of_before_is_carried_out_in_its_time(ada: Machine) -> None:
    made = order(ada, expires=None)

    assert work(ada)[0] == [made.id]


def test_an_order_that_is_put_into_the_queue_again_is_not_done_again(ada: Machine, hub: Path) -> None:
    made = order(ada)
    commit = run_git(hub, "rev-parse", f"{QUEUE}{made.id}").strip()
    first, _ = work(ada)
    for ref in (f"refs/nexus/runs/{made.id}", f"refs/heads/nexus/{made.id}"):
        run_git(hub, "update-ref", "-d", ref)
    run_git(hub, "update-ref", f"{QUEUE}{made.id}", commit)
    carol = Machine(hub, "carol")
    carol.consent()
    carol.sync()

    again, elsewhere = work(ada), work(carol)

    assert first == [made.id]
    left = f"{made.id} is left in the queue: it was carried out already"
    assert (again, elsewhere) == (([], [left]), ([], [left]))


@pytest.mark.slow
def test_an_order_whose_run_waits_for_a_person_is_not_done_again_by_anybody(ada: Machine, hub: Path) -> None:
    made, commit = ran_until_it_waits(ada, hub)
    carol, dave = Machine(hub, "carol"), Machine(hub, "dave")
    for other in (carol, dave):
        other.consent()
    dave.sync()

    for other in (ada, carol, dave):
        said = other("worker", "--once").stderr
        assert f"{made} is left in the queue: it was carried out" in said, said
        assert "taken" not in said
        assert run_git(hub, "rev-parse", f"{QUEUE}{made}").strip() == commit
    assert "git nexus review" in said and f"git nexus approve {made} --queue lets a worker continue" in said


def test_an_order_of_a_run_that_was_answered_is_not_done_again_unless_that_was_ordered(ada: Machine, hub: Path) -> None:
    made, commit = ran_until_it_waits(ada, hub, "echo $$ > one.txt")
    with ada.run(made) as desk:  # as a person who is asked while more is to do
        deny_action(desk, "a1", "no")
        desk.log.append("run.resumed", "user", {"by": "Ada", "definition": desk.record.definition})
        desk.write_checkpoint()
    run_git(hub, "update-ref", "-d", f"{QUEUE}{made}")
    ada.sync()
    run_git(hub, "update-ref", f"{QUEUE}{made}", commit)
    carol = Machine(hub, "carol")
    carol.consent()

    said = carol("worker", "--once").stderr

    assert f"who answered did not order more: git nexus resume {made} --queue does" in said


def test_an_order_of_which_only_the_record_is_left_is_not_begun_again(ada: Machine, hub: Path) -> None:
    made, _ = ran_until_it_waits(ada, hub)
    run_git(hub, "update-ref", "-d", f"refs/nexus/runs/{made}")
    carol = Machine(hub, "carol")
    carol.consent()
    run_git(carol.place, "update-ref", "-d", f"refs/nexus/runs/{made}")

    said = carol("worker", "--once").stderr

    assert f"{made} is left in the queue: it was started already: its record says waiting" in said
    assert f"git nexus queue --drop {made}" in said


def test_a_log_that_is_only_claimed_is_not_begun_again_either(ada: Machine, hub: Path) -> None:
    made, _ = ran_until_it_waits(ada, hub)
    forge(hub, made, CANCELLED)
    carol = Machine(hub, "carol")
    carol.consent()

    said = carol("worker", "--once").stderr

    assert f"{made} is left in the queue: it was started already, and events" in said


def test_the_dead_worker_of_a_run_that_waits_leaves_nothing_but_the_end_of_its_order(ada: Machine, hub: Path) -> None:
    made, _ = ran_until_it_waits(ada, hub)
    log = run_git(hub, "rev-parse", f"refs/nexus/runs/{made}")
    run_git(hub, "update-ref", f"refs/nexus/claims/{made}", run_git(hub, "rev-parse", "HEAD").strip())
    carol = Machine(hub, "carol")
    carol.consent()

    done, said = work(carol, lease=0)

    assert done == [made], said
    assert said[-1] == f"{made}: published, waiting"
    assert run_git(hub, "rev-parse", f"refs/nexus/runs/{made}") == log
    assert run_git(hub, "for-each-ref", "refs/nexus/queue", "refs/nexus/claims") == ""


def test_what_an_order_ended_with_is_told_with_the_way_out() -> None:
    assert last_error_lines("a\nerror: it is gone\nhint: bring it back\n") == "it is gone; bring it back"
    assert last_error_lines("a\nb\n") == "b"
    assert last_error_lines("") == "it printed nothing"


def ran_until_it_waits(ada: Machine, hub: Path, script: str = "echo $$ > one.txt") -> tuple[str, str]:
    """Order a run, let a worker bring it to where it waits, and put its order back; return both. It comes first."""

    def run() -> str:
        made = order(ada, script).id
        commit = run_git(hub, "rev-parse", f"{QUEUE}{made}").strip()
        assert work(ada)[0] == [made]
        run_git(hub, "update-ref", f"{QUEUE}{made}", commit)
        return f"{made} {commit}"

    made, commit = ada.step(f"ordered run {script}", run).split()
    return made, commit


@pytest.mark.slow
def test_what_a_vouched_worker_writes_is_known_to_be_its_owners(ada: Machine, hub: Path) -> None:
    bob = Machine(hub, "bob")
    bob.consent()
    bob.sync()
    key = bob.json("approver", "machine")["machine"]
    ada.ok("approver", "machine", key["public"], "--name", "Bob", "--confirm", key["id"])
    ada.sync()
    bob.sync()
    made = order(ada)

    done, said = work(bob)
    ada.sync()

    assert done == [made.id], said
    proof = ada("replay", made.id, "--verify").stderr
    assert "signed by the machine of Bob, for which Ada vouches" in proof
    assert "all valid" in proof


@pytest.mark.slow
@pytest.mark.parametrize(("count", "lines"), [(55, 56), pytest.param(210, 201, marks=pytest.mark.slow)])
def test_many_orders_that_nobody_signed_hold_up_none_that_somebody_did(
    ada: Machine, hub: Path, count: int, lines: int
) -> None:
    made = order(ada)
    commit = run_git(hub, "rev-parse", f"{QUEUE}{made.id}").strip()
    refs = "".join(f"create {QUEUE}250101-{at // 60 % 24:02}{at % 60:02}-{at:04} {commit}\n" for at in range(count))
    run_git(hub, "update-ref", "--stdin", stdin=refs)

    listed = ada.json("queue")["queue"]
    shown = ada.ok("queue").splitlines()
    done, said = work(ada)

    assert (listed[0]["id"], listed[0]["why"], len(listed)) == (made.id, "", count + 1)
    assert all(row["why"] for row in listed[1:])
    assert (len(shown), "11 more" in shown[-1]) == (lines, count == 210)
    assert done == [made.id]
    assert sum("is left in the queue" in words for words in said) <= 50
