"""A signed order is carried out once, and not after its time; a worker's log counts if somebody vouches for it."""

from datetime import timedelta
from pathlib import Path

from gitnexus.app.keepers import open_state
from gitnexus.app.queue import posted, queued
from gitnexus.app.running import Wish
from gitnexus.app.trust import signer_of
from gitnexus.app.wire import wire_to
from gitnexus.app.worker import Worker
from gitnexus.base.clock import now, stamp
from gitnexus.runs.definition import of_command
from gitnexus.runs.order import QUEUE, Order
from tests.attacks.machines import Machine
from tests.conftest import run_git


def order(machine: Machine, script: str = "true", **changed: str | None) -> Order:
    """Put an order into the queue, signed by who sits at a machine."""
    with machine.here():
        state = open_state(machine.place)
        wire = wire_to(state, None)
        made = queued(state, wire, Wish(of_command(("sh", "-c", script)), "an order"), (), "")
        if changed:
            run_git(machine.place, "push", "-q", "origin", f":{QUEUE}{made.id}")
            made = made.changed(**changed, signature="").signed(signer_of(state.repo))
            posted(state, wire, made)
        state.close()
    return made


def work(machine: Machine) -> tuple[list[str], list[str]]:
    """Let a worker empty the queue; return what it carried out, and what it said."""
    said: list[str] = []
    with machine.here():
        state = open_state(machine.place)
        worker = Worker(state, wire_to(state, None), "w", frozenset(), said.append, 5, 0.05, True)
        worker.work()
        state.close()
    return worker.done, said


def test_an_order_that_expired_is_left_alone(ada: Machine) -> None:
    late = order(ada, expires=stamp(now() - timedelta(seconds=1)))
    old = order(ada, expires=None, created=stamp(now() - timedelta(days=8)))

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
    assert "all hold" in proof
