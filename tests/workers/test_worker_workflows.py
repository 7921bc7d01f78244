"""Workflows of several nodes on a worker: what waits is answered in another clone, and a worker goes on with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Failed
from gitnexus.projects.open_state import open_state
from gitnexus.runs.drive import drive_run
from gitnexus.runs.order import QUEUE, RunOrder
from gitnexus.runs.workflow import walk
from gitnexus.runs.workflow.stage import LiveStage
from gitnexus.runs.workflow.start import workflow_request
from gitnexus.sync.remote import resolve_remote
from gitnexus.workers.lease import RunLease
from gitnexus.workers.queue import enqueue_run, list_queue, read_order
from gitnexus.workflow.definition import WorkflowDefinition, make_node
from tests.conftest import Nexus, run_git, trust
from tests.runs.workflow.test_workflow import PROMPT, TODO
from tests.sync.two import Clone
from tests.workers.test_workers import ALLOW, lease, refs, worker_in

NODES = ["research", "plan", "exec"]
# Its second step asks: the list does not say what to write.
ASKS = TODO + "\n- [ ] Dream of nothing in 'dream.txt'\n"


@pytest.fixture
def todo(ada: Clone, bob: Clone) -> Clone:
    return listed(ada, TODO)


def listed(ada: Clone, text: str) -> Clone:
    (ada.place / "TODO.md").write_text(text)
    run_git(ada.place, "add", "-A")
    run_git(ada.place, "commit", "-qm", "what to do")
    return ada


def put(clone: Clone, *more: str) -> str:
    return str(json.loads(Nexus(clone.place).ok("run", "--queue", "", *more, PROMPT, "--yes", "--json"))["run"]["id"])


def kinds(hub: Path, run: str, kind: str) -> list[Any]:
    """Return the nodes that the published log tells of in events of a kind, in order."""
    names = run_git(hub, "ls-tree", "--name-only", f"refs/nexus/runs/{run}:events").split()
    text = "".join(run_git(hub, "show", f"refs/nexus/runs/{run}:events/{name}") for name in names)
    events = [json.loads(line) for line in text.splitlines()]
    return [event["body"].get("node", event["body"].get("ok")) for event in events if event["kind"] == kind]


def worked(clone: Clone, **more: object) -> list[str]:
    """Let a worker do what there is, and return what it said."""
    worker, said = worker_in(clone, **more)
    worker.work()
    worker.state.close()
    return said


@pytest.mark.slow
def test_a_workflow_waits_on_a_worker_is_approved_elsewhere_and_the_worker_goes_on(
    todo: Clone, bob: Clone, hub: Path
) -> None:
    run = put(todo)
    assert worked(bob)[-1] == f"{run}: published, waiting"
    todo.sync()
    assert kinds(hub, run, "node.completed") == ["research", "plan"]
    (row,) = json.loads(Nexus(todo.place).ok("runs", "--json"))["runs"]
    assert (row["status"], row["waits"]) == ("waiting", "1 waiting")
    (shown,) = json.loads(Nexus(todo.place)("review", "--json").stdout)["runs"]
    assert [one["id"] for one in shown["actions"]] == ["a1"], "without being told which run"

    for ended in ("waiting", "completed"):
        said = Nexus(todo.place).ok("approve", "--unseen", run, "--queue")
        assert said == f"{run} waits on origin for a worker that continues it: git nexus queue\n"
        assert worked(bob)[-1] == f"{run}: published, {ended}"
        todo.sync()

    assert kinds(hub, run, "node.completed") == NODES
    assert kinds(hub, run, "run.finished") == [True]
    assert refs(hub, "refs/nexus/queue", "refs/nexus/claims") == []
    assert run_git(todo.place, "show", f"nexus/{run}:hello.txt") == "Hello\n"
    assert Nexus(todo.place).ok("replay", run, "--verify")
    assert json.loads(Nexus(todo.place).ok("verify", f"main..nexus/{run}", "--json"))["ok"]


@pytest.mark.slow
def test_a_workflow_from_a_file_is_carried_out_to_its_end_where_the_policy_allows_it(
    todo: Clone, bob: Clone, hub: Path, tmp_path: Path
) -> None:
    todo.write({"policy.md": ALLOW.replace(b"['*.txt']", b"['*.txt']\n  - run: [cat, '**']")})
    trust(todo.place)
    todo.sync()
    bob.sync()
    nexus = Nexus(todo.place)
    nexus.ok("route", PROMPT, "--output", str(tmp_path / "flow.json"))
    told = nexus.ok("run", "--queue", "", "--workflow", str(tmp_path / "flow.json"), "--json")
    run = json.loads(told)["run"]["id"]

    assert worked(bob)[-1] == f"{run}: published, completed"
    assert kinds(hub, run, "node.completed") == NODES


@pytest.mark.slow
def test_a_question_of_a_workflow_is_answered_in_another_clone_and_a_worker_goes_on(
    ada: Clone, bob: Clone, hub: Path
) -> None:
    listed(ada, ASKS)
    ada.write({"policy.md": ALLOW.replace(b"['*.txt']", b"['*.txt']\n  - run: [cat, '**']")})
    trust(ada.place)
    ada.sync()
    bob.sync()
    run = put(ada)
    worked(bob)
    ada.sync()
    nexus = Nexus(ada.place)
    with pytest.raises(AssertionError, match="still waits for an answer"):
        nexus.ok("resume", run, "--queue")
    told = json.loads(nexus("review", run, "--json").stdout)["runs"][0]
    (question,) = told["questions"]

    patch = "```diff\n--- /dev/null\n+++ b/dream.txt\n@@ -0,0 +1 @@\n+of nothing\n```\n"
    nexus.ok("answer", run, patch, "--question", question["id"], "--queue")
    said = worked(bob)
    ada.sync()

    assert said[-1] in (f"{run}: published, waiting", f"{run}: published, completed")
    assert json.loads(nexus("review", run, "--json").stdout)["runs"][0]["questions"] == []


def killed_at(clone: Clone, run: str, place: object, name: str, monkeypatch: pytest.MonkeyPatch) -> RunLease:
    """Let a worker take a run, be killed when it comes to `name`, and have said before how far it was."""
    dead, _ = worker_in(clone)
    held, state = lease(clone, run, "dead")
    assert held.claimed()
    wire = resolve_remote(state, None)
    list_queue(state, wire)  # fetches the orders
    order: RunOrder = read_order(state, wire.tracking_ref(f"{QUEUE}{run}"))
    desk = dead._open_ordered_run(order)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(place, name, killed)
        with pytest.raises(KeyboardInterrupt):
            drive_run(desk, lambda said: None, None)
    assert held.beat(dead._progress_pushes(desk)) == "held"
    dead.state.close()
    return held


@pytest.mark.slow
def test_a_worker_killed_between_nodes_is_taken_over_and_no_node_is_done_twice(
    todo: Clone, bob: Clone, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = put(todo)
    held = killed_at(todo, run, walk, "report_results_to_session", monkeypatch)

    said = worked(bob, lease=0.0)

    assert said[0].startswith(f"{run}: taken over: ")
    assert said[-1] == f"{run}: published, waiting"
    assert kinds(hub, run, "node.started") == ["research", "plan", "exec"]
    assert kinds(hub, run, "node.completed") == ["research", "plan"]
    assert held.beat() == "lost"
    held._state.close()


@pytest.mark.slow
def test_files_that_a_dead_worker_had_and_did_not_propose_are_made_again(
    ada: Clone, bob: Clone, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.write({"policy.md": ALLOW})
    trust(ada.place)
    ada.sync()
    bob.sync()
    begin, end = (
        make_node(name, "command", argv=("sh", "-c", f"echo {name} > {name}.txt")) for name in ("begin", "end")
    )
    flow = WorkflowDefinition(name="two", prompt="two files", nodes=(begin, end), edges=(("begin", "end"),))
    state = open_state(ada.place)
    run = enqueue_run(state, resolve_remote(state, None), workflow_request(flow), (), "").id
    state.close()
    killed_at(ada, run, LiveStage, "act", monkeypatch)._state.close()

    assert worked(bob, lease=0.0)[-1] == f"{run}: published, completed"
    ada.sync()

    assert kinds(hub, run, "node.started") == ["begin", "begin", "end"]
    assert kinds(hub, run, "node.completed") == ["begin", "end"]
    assert run_git(hub, "ls-tree", "--name-only", f"nexus/{run}").split() == ["begin.txt", "end.txt", "readme.txt"]
    nexus = Nexus(bob.place)
    assert "again, because the files are missing: begin" in nexus.ok("replay", run, "--verify")


def test_what_is_over_or_still_waits_is_not_put_back_into_the_queue(todo: Clone, bob: Clone, hub: Path) -> None:
    from gitnexus.runs.open_run import open_run
    from gitnexus.workers.requeue import requeue_run

    run = put(todo)
    worked(bob)
    todo.sync()
    state = open_state(todo.place)
    with pytest.raises(Failed, match="still waits for an answer: a1"):
        requeue_run(open_run(state, run), resolve_remote(state, None), (), "")
    Nexus(todo.place).ok("cancel", run)
    with pytest.raises(Failed, match="is cancelled: there is nothing left to do"):
        requeue_run(open_run(state, run), resolve_remote(state, None), (), "")
    assert refs(hub, "refs/nexus/queue") == []
    state.close()
