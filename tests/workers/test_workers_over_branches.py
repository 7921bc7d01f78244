"""A host that takes nothing but branches, and those only forward: queue, claims and logs lie on branches there."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Failed
from gitnexus.git import config
from gitnexus.state import STATE_REF
from gitnexus.sync.remote import USUAL_STATE_BRANCH, resolve_remote
from gitnexus.sync.remote_refs import resolve_state_branch
from gitnexus.workers.queue import enqueue_run, list_queue, remove_from_queue
from gitnexus.workers.worker import QueueWorker
from tests.conftest import Nexus, run_git, trust
from tests.sync.conftest import cloned
from tests.sync.two import Clone
from tests.workers.test_workers import ALLOW, lease, put, refs, wish, worker_in

HOOK = "#!/bin/sh\ncase $1 in refs/nexus*) echo 'only branches here' >&2; exit 1;; esac\n"


@pytest.fixture
def strict(hub: Path, ada: Clone) -> Path:
    """The hub as such a host, with the state on its branch; Ada was told so, nobody else."""
    (hub / "hooks" / "update").write_text(HOOK)
    (hub / "hooks" / "update").chmod(0o755)
    run_git(hub, "update-ref", "-d", STATE_REF)
    run_git(hub, "config", "receive.denyNonFastForwards", "true")
    run_git(ada.place, "update-ref", "-d", "refs/nexus-sync/origin/state")
    run_git(ada.place, "config", "remote.origin.nexusWireRef", USUAL_STATE_BRANCH)
    config.config_rows.cache_clear()
    ada.write({"policy.md": ALLOW})
    trust(ada.place)
    ada.sync()
    return hub


def on_branches(worker: QueueWorker) -> QueueWorker:
    worker.remote = resolve_state_branch(worker.state.repo, worker.remote)
    return worker


@pytest.mark.slow
def test_a_run_goes_through_queue_claim_and_log_on_branches_and_comes_home(strict: Path, ada: Clone) -> None:
    bob = cloned(strict, "bob")
    order = put(ada)
    assert refs(strict, "refs/heads/nexus-state-queue") == [f"refs/heads/nexus-state-queue/{order.id}"]
    worker, said = worker_in(bob)

    on_branches(worker).work()
    ada.sync()

    assert said[-1] == f"{order.id}: published, completed"
    assert refs(strict, "refs/nexus") == []
    assert refs(strict, "refs/heads") == [
        "refs/heads/main",
        "refs/heads/nexus-state",
        f"refs/heads/nexus-state-runs/{order.id}",
        f"refs/heads/nexus/{order.id}",
    ]
    assert run_git(ada.place, "show", f"nexus/{order.id}:one.txt") == "one\n"
    assert Nexus(ada.place).ok("replay", order.id, "--verify")


def test_signs_of_life_and_a_takeover_are_steps_forward_and_the_first_still_cannot_publish(
    strict: Path, ada: Clone
) -> None:
    bob = cloned(strict, "bob")
    bob.sync()
    order = put(ada)
    first, one = lease(ada, order.id, "first")
    late, two = lease(bob, order.id, "late")

    assert (first.claimed(), late.claimed()) == (True, False)
    assert [first.beat(), first.beat()] == ["held", "held"]
    claim = run_git(strict, "rev-parse", f"refs/heads/nexus-state-claims/{order.id}").strip()
    taker, three = lease(bob, order.id, "taker")
    assert taker.claimed(claim)
    assert (first.beat(), first.publish([]), taker.beat()) == ("lost", "lost", "held")

    rows = list_queue(one, resolve_remote(one, None))
    assert [(row.run, row.worker) for row in rows] == [(order.id, "taker")]
    assert taker.publish([]) == "held"
    assert remove_from_queue(one, resolve_remote(one, None), order.id) == order.id
    assert refs(strict, "refs/heads/nexus-state-queue", "refs/heads/nexus-state-claims") == []
    for state in (one, two, three):
        state.close()


def test_a_host_that_refuses_the_queue_is_told_with_the_way_out(strict: Path, ada: Clone) -> None:
    run_git(ada.place, "config", "--unset", "remote.origin.nexusWireRef")
    config.config_rows.cache_clear()
    bob, state = lease(ada, "261116-1503-k7fb", "x")

    with pytest.raises(Failed, match=r"does not accept refs/nexus/queue/.*hook declined") as refused:
        enqueue_run(state, resolve_remote(state, None), wish(), (), "")
    with pytest.raises(Failed, match="refuses refs/nexus/claims/"):
        bob.claimed()

    assert refused.value.fix == f"git config remote.origin.nexusWireRef {USUAL_STATE_BRANCH}"
    assert (
        resolve_state_branch(state.repo, resolve_remote(state, None)).state_branch == USUAL_STATE_BRANCH
    )  # and a command finds the branch by itself
    state.close()


@pytest.mark.slow
def test_a_result_that_the_host_refuses_is_told_as_that_and_not_as_a_lost_lease(strict: Path, ada: Clone) -> None:
    bob = cloned(strict, "bob")
    bob.sync()
    order = put(ada)
    (strict / "hooks" / "update").write_text("#!/bin/sh\ncase $1 in */nexus/*) exit 1;; esac\n")
    worker, said = worker_in(bob, lease=0.0)

    on_branches(worker).work()

    assert worker.done == []
    assert f"{order.id}: origin refuses refs/heads/nexus/{order.id}: [remote rejected] (hook declined)" in said
    assert refs(strict, "refs/heads/nexus-state-queue") == [f"refs/heads/nexus-state-queue/{order.id}"]
