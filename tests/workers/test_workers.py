"""Runs on more than one machine: the server's refs decide who has one."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Busy
from gitnexus.git.exchange import RefUpdate as Push
from gitnexus.projects.open_state import open_state
from gitnexus.runs.order import ORDER_FILE, QUEUE, RunOrder
from gitnexus.runs.start import RunRequest
from gitnexus.state import State
from gitnexus.sync.remote import resolve_remote
from gitnexus.workers.lease import RunLease
from gitnexus.workers.queue import enqueue_run, list_queue, remove_from_queue
from gitnexus.workers.worker import QueueWorker
from gitnexus.workflow.run_definition import definition_from_command
from tests.conftest import Nexus, run_git, trust
from tests.policy.signing import Key
from tests.runs.live import record
from tests.sync.two import Clone

ALLOW = b"---\nversion: 1\nallow:\n  - write: ['*.txt']\n---\n\n# Policy\n"


def wish(*argv: str, task: str = "") -> RunRequest:
    definition = definition_from_command(argv or ("sh", "-c", "echo one > one.txt"))
    return RunRequest(definition, "make a file", task=task)


def put(clone: Clone, *labels: str, argv: tuple[str, ...] = (), task: str = "") -> RunOrder:
    state = open_state(clone.place)
    try:
        return enqueue_run(state, resolve_remote(state, None), wish(*argv, task=task), labels, "")
    finally:
        state.close()


def worker_in(clone: Clone, *labels: str, **more: object) -> tuple[QueueWorker, list[str]]:
    state, said = open_state(clone.place), list[str]()
    found = QueueWorker(state, resolve_remote(state, None), "w", frozenset(labels), said.append, 5, 0.05, True)
    for name, value in more.items():
        setattr(found, name, value)
    return found, said


def refs(hub: Path, *above: str) -> list[str]:
    return run_git(hub, "for-each-ref", "--format=%(refname)", *above).split()


def test_a_queued_run_is_carried_out_by_a_worker_and_its_result_comes_home(ada: Clone, bob: Clone, hub: Path) -> None:
    ada.write({"policy.md": ALLOW})
    trust(ada.place)
    ada.sync()
    bob.sync()
    order = put(ada)
    worker, said = worker_in(bob)

    worker.work()
    ada.sync()

    assert worker.done == [order.id]
    assert said[-1] == f"{order.id}: published, completed"
    assert refs(hub, "refs/nexus/queue", "refs/nexus/claims") == []
    assert run_git(ada.place, "show", f"nexus/{order.id}:one.txt") == "one\n"
    assert "completed" in Nexus(ada.place).ok("runs")
    assert Nexus(ada.place).ok("replay", order.id, "--verify")


def test_a_worker_that_can_take_nothing_from_the_server_says_why_and_ends(ada: Clone, bob: Clone) -> None:
    put(ada)
    blocked = bob.place / ".git" / "refs" / "nexus-sync" / "origin" / "queue"
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("a file where the folder of the orders must be\n")

    ended = Nexus(bob.place)("worker", "--drain", "--poll", "0.05")

    assert ended.returncode == 1
    assert "error: fetching from origin failed: " in ended.stderr
    assert "refs/nexus-sync/origin/queue" in ended.stderr


@pytest.mark.slow
def test_a_run_whose_worker_died_before_it_told_the_state_is_found_by_its_log(
    ada: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.write({"policy.md": ALLOW})
    trust(ada.place)
    ada.sync()
    bob.sync()
    order = put(ada, task="T7")
    worker, _ = worker_in(bob, once=True)
    monkeypatch.setattr(QueueWorker, "_sync_state", lambda self: None)

    worker.work()
    done = ada.sync()

    nexus = Nexus(ada.place)
    assert done.said == [
        f"{order.id} is known from its log: the process that carried it out was stopped before the record was written"
    ]
    assert "completed" in nexus.ok("runs")
    assert "run.finished" in nexus.ok("replay", order.id, "--json")
    kept = record(ada.place, order.id)
    assert (kept["onto"], kept["task"], kept["title"]) == ("main", "T7", "make a file")
    assert f"{order.id} is on main" in nexus.ok("land", order.id)
    bob.sync()
    ada.sync()
    assert "landed" in nexus.ok("runs", "--all")


@pytest.mark.slow
def test_what_a_worker_leaves_waiting_is_approved_in_another_clone_and_comes_back(ada: Clone, bob: Clone) -> None:
    order = put(ada)
    worker, said = worker_in(bob)
    worker.work()
    ada.sync()

    Nexus(ada.place).ok("approve", "--unseen", order.id)
    ada.sync()
    bob.sync()

    assert said[-1] == f"{order.id}: published, waiting"
    assert run_git(bob.place, "show", f"nexus/{order.id}:one.txt") == "one\n"
    assert Nexus(bob.place).ok("land", order.id)
    assert (bob.place / "one.txt").read_text() == "one\n"


def lease(clone: Clone, run: str, name: str) -> tuple[RunLease, State]:
    state = open_state(clone.place)
    return RunLease(state, resolve_remote(state, None), run, name), state


def test_one_of_two_has_the_run_and_who_lost_it_cannot_publish(ada: Clone, bob: Clone, hub: Path) -> None:
    order = put(ada)
    first, one = lease(ada, order.id, "first")
    second, two = lease(bob, order.id, "second")
    assert first.claimed() and not second.claimed()
    assert first.beat() == "held"
    claim = run_git(hub, "rev-parse", f"refs/nexus/claims/{order.id}").strip()
    third, three = lease(bob, order.id, "third")

    assert third.claimed(claim)

    tip = run_git(ada.place, "rev-parse", "HEAD").strip()
    result = [Push(f"refs/heads/nexus/{order.id}", tip), Push(f"{QUEUE}{order.id}", None, "0" * 40)]
    assert (first.beat(), first.publish(result)) == ("lost", "lost")
    assert refs(hub, "refs/heads/nexus") == []
    assert refs(hub, "refs/nexus/queue") == [f"{QUEUE}{order.id}"]
    for state in (one, two, three):
        state.close()


def test_a_claim_on_a_run_that_ended_meanwhile_is_given_back(ada: Clone, bob: Clone, hub: Path) -> None:
    order = put(ada)
    run_git(hub, "update-ref", "-d", f"{QUEUE}{order.id}")
    late, state = lease(bob, order.id, "late")

    assert not late.claimed()
    assert refs(hub, "refs/nexus/claims") == []
    state.close()


def test_the_run_of_a_dead_worker_is_taken_over_and_goes_on_where_its_log_ends(
    ada: Clone, bob: Clone, hub: Path
) -> None:
    ada.write({"policy.md": ALLOW})
    trust(ada.place)
    ada.sync()
    bob.sync()
    order = put(ada)
    dead, _ = worker_in(ada)
    held, state = lease(ada, order.id, "dead")
    assert held.claimed()
    desk = dead._open_ordered_run(order)
    desk.log.append("node.started", "nexus", {"node": "main", "agent": "x", "adapter": "command", "attempt": 1})
    assert held.beat(dead._progress_pushes(desk)) == "held"
    worker, said = worker_in(bob, lease=0.0)

    worker.work()

    assert said[0] == f"{order.id}: taken over: make a file"
    assert said[-1] == f"{order.id}: published, completed"
    log = run_git(hub, "show", f"refs/nexus/runs/{order.id}:events/0001.jsonl")
    assert (log.count('"node.started"'), log.count('"run.finished"')) == (2, 1)
    assert held.publish([Push(f"refs/heads/nexus/{order.id}", desk.record.base)]) == "lost"
    dead.state.close()
    state.close()


def test_an_order_that_no_approver_signed_is_left_alone(ada: Clone, bob: Clone, hub: Path) -> None:
    order = put(ada)
    eve, key = State.open(hub), Key()
    forged = order.changed(title="mischief", key=key.key_id).signed(key)
    tip, _ = eve.objects.write_commit(
        parents=[], changes={ORDER_FILE: forged.to_bytes()}, message="x\n", author=eve.author
    )
    run_git(hub, "update-ref", f"{QUEUE}{order.id}", tip)
    worker, said = worker_in(bob)

    worker.work()

    assert worker.done == []
    assert said == [f"{order.id} is left in the queue: {key.key_id} is not an approver of this project"]
    eve.close()


def test_a_worker_leaves_what_wants_more_than_it_has(ada: Clone, bob: Clone) -> None:
    order = put(ada, "gpu", "linux")
    without, _ = worker_in(bob, "linux")

    without.work()

    state = open_state(ada.place)
    wire = resolve_remote(state, None)
    assert without.done == []
    assert [(row.run, row.worker) for row in list_queue(state, wire)] == [(order.id, "")]
    held, other = lease(bob, order.id, "w")
    held.claimed()
    assert [(row.run, row.worker) for row in list_queue(state, wire)] == [(order.id, "w")]
    with pytest.raises(Busy):
        remove_from_queue(state, wire, order.id)
    held.publish([])
    assert remove_from_queue(state, wire, order.id) == order.id
    assert list_queue(state, wire) == []
    state.close()
    other.close()


def test_a_run_that_a_worker_holds_is_not_published_by_a_plain_sync(ada: Clone, hub: Path) -> None:
    order = put(ada)
    worker, _ = worker_in(ada)
    desk = worker._open_ordered_run(order)
    (desk.folder / "leased").write_text("w\n")
    desk.write_checkpoint()

    ada.sync()

    assert refs(hub, "refs/nexus/runs", "refs/heads/nexus") == []
    worker.state.close()


def test_what_stands_after_queue_is_the_prompt_where_it_is_no_remote(ada: Clone, hub: Path, nexus: Nexus) -> None:
    first = nexus("run", "--queue", "mend the parser", "--agent", "scripted", place=ada.place)
    second = nexus("run", "--queue", "origin", "mend it", "--agent", "scripted", place=ada.place)
    wrong = nexus("run", "--queue", "orgin", "mend it", "--agent", "scripted", place=ada.place)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert (wrong.returncode, "there is no remote 'orgin'" in wrong.stderr) == (4, True)
    assert len(refs(hub, "refs/nexus/queue")) == 2


def test_a_run_that_is_named_after_queue_is_not_taken_for_a_remote(ada: Clone) -> None:
    nexus = Nexus(ada.place)
    nexus("run", "--", "sh", "-c", "echo made > made.txt")
    run = refs(ada.place, "refs/heads/nexus")[0].removeprefix("refs/heads/nexus/")

    told = nexus("resume", "--queue", run).stderr

    assert f"{run} still waits for an answer: a1" in told
    assert nexus("resume", "--queue").returncode == 2


@pytest.mark.parametrize("how", [pytest.param("--drain", marks=pytest.mark.slow), "--once"])
def test_a_run_that_this_machine_cannot_carry_out_is_told_and_stays_in_the_queue(
    ada: Clone, bob: Clone, hub: Path, how: str
) -> None:
    order = put(ada, argv=("sh", "-c", "echo made > made.txt"))
    in_the_way = bob.place / ".git" / "nexus" / "worktrees"
    in_the_way.write_text("no worktree can be linked here")
    nexus = Nexus(bob.place)

    refused = nexus("worker", how, "--lease", "1", "--poll", "0.05")

    assert refused.returncode == 1
    words = f"0 runs carried out; 1 run could not be, and stays in the queue: {order.id}: the worktree at "
    assert words in refused.stderr
    assert f"{order.id} stays in the queue: it failed here" in refused.stderr
    assert refs(hub, "refs/nexus/queue") == [f"refs/nexus/queue/{order.id}"]
    in_the_way.unlink()
    nexus.ok("worker", "--drain", "--lease", "1", "--poll", "0.05")
    assert record(bob.place, order.id)["status"] == "waiting"
    assert refs(hub, "refs/nexus/queue") == []
