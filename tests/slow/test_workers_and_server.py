"""A real server, four workers, thirty runs, and they are killed at random: each run ends once, and none is lost.

A kill comes when one to three runs have ended since the last, so there are as many for a run as the machine is slow
or quick.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitnexus.app.init import init_project
from gitnexus.base.canonical import parse_json
from gitnexus.projects.open_state import open_state
from gitnexus.runs.start import RunRequest
from gitnexus.runs.workflow.start import workflow_request
from gitnexus.sync.remote import resolve_remote
from gitnexus.workers.queue import enqueue_run
from gitnexus.workflow.definition import WorkflowDefinition, make_node
from gitnexus.workflow.run_definition import definition_from_command
from tests.conftest import run_git, trust
from tests.seeds import chance_of
from tests.slow import githttp
from tests.sync.two import Clone

pytestmark = pytest.mark.slow(seconds=90)
RUNS, WORKERS = 30, 4
ALLOW = b"---\nversion: 1\nallow:\n  - write: ['*.txt']\n---\n\n# Policy\n"
PATIENCE = 600
# Nobody is spared for longer than this: who waits for the lease of a dead worker may be killed too.
LONGEST_PEACE = 9.0


class Server:
    """A git server on the loopback, `git daemon` or `git http-backend`; it may be killed and started again."""

    def __init__(self, scheme: str, place: Path) -> None:
        self.scheme, self.place = scheme, place
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    @property
    def argv(self) -> list[str]:
        if self.scheme == "http":
            return [sys.executable, str(Path(githttp.__file__)), str(self.place), str(self.port)]
        return ["git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={self.port}", "--export-all",
                "--enable=receive-pack", f"--base-path={self.place}", str(self.place)]  # fmt: skip

    def start(self) -> None:
        self.process = subprocess.Popen(self.argv, start_new_session=True, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError(f"the server of {self.scheme} did not start")

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Machine:
    """A clone with a worker in it, which may be killed with all that it started."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.process = self.started()

    def started(self) -> "subprocess.Popen[bytes]":
        with (self.place.parent / f"{self.place.name}.log").open("ab") as log:
            argv = ["git", "nexus", "worker", "--drain", "--lease", "8", "--poll", "0.3", "--name", self.place.name]
            return subprocess.Popen(argv, cwd=self.place, start_new_session=True, stdout=log, stderr=log)

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def cloned(server: Server, hub: Path, name: str) -> Path:
    run_git(hub.parent, "clone", "-q", f"{server.scheme}://127.0.0.1:{server.port}/hub.git", name)
    init_project(hub.parent / name, name=None, aliases=(), with_hooks=False, local=False).nexus.close()
    return hub.parent / name


def wished(number: int) -> RunRequest:
    """Return what a run is to do: to make a file, by one command or, every fifth, by a workflow of two nodes."""
    argv = ("sh", "-c", f"echo {number} > made.txt")
    if number % 5:
        return RunRequest(definition_from_command(argv), f"run {number}")
    begin = make_node("begin", "command", argv=("sh", "-c", "echo half > made.txt"))
    flow = WorkflowDefinition(
        name="two",
        nodes=(begin, make_node("end", "command", argv=argv)),
        edges=(("begin", "end"),),
        prompt=f"run {number}",
    )
    return workflow_request(flow, f"run {number}")


@pytest.mark.parametrize("scheme", ["git", "http"])
def test_thirty_runs_end_once_each_whoever_is_killed(tmp_path: Path, repository: Path, scheme: str) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(repository), "hub.git")
    hub, chance = tmp_path / "hub.git", chance_of(scheme)
    server = Server(scheme, tmp_path)
    ada = Clone(cloned(server, hub, "ada"))
    ada.write({"policy.md": ALLOW})
    trust(ada.place)
    ada.sync()
    machines = []
    try:
        state = open_state(ada.place)
        orders = [enqueue_run(state, resolve_remote(state, None), wished(n), (), "") for n in range(RUNS)]
        state.close()
        machines = [Machine(cloned(server, hub, f"w{n}")) for n in range(WORKERS)]
        deadline = time.monotonic() + PATIENCE
        while left := in_queue(hub):
            assert time.monotonic() < deadline, f"after {PATIENCE} s {left} of {RUNS} runs are still in the queue"
            wait_for_ends(hub, left - chance.randrange(1, 4))
            victim = chance.choice(machines)
            victim.kill()
            if chance.random() < 0.3:
                server.kill()
                time.sleep(chance.uniform(0.2, 1.5))
                server.start()
            for machine in machines:
                if machine.process.poll() is not None:
                    machine.process = machine.started()
        for machine in machines:
            machine.process.wait(timeout=120)
    finally:
        for machine in machines:
            machine.kill()
        server.kill()
    settled(hub, {order.id: number for number, order in enumerate(orders)})


def in_queue(hub: Path) -> int:
    """Return how many runs nobody has ended yet."""
    return len(run_git(hub, "for-each-ref", "refs/nexus/queue").splitlines())


def wait_for_ends(hub: Path, left: int) -> None:
    """Wait until no more than `left` runs are in the queue, but not longer than the peace may last."""
    end = time.monotonic() + LONGEST_PEACE
    while in_queue(hub) > max(left, 0) and time.monotonic() < end:
        time.sleep(0.1)


def settled(hub: Path, runs: dict[str, int]) -> None:
    refs = run_git(hub, "for-each-ref", "--format=%(refname)").split()
    assert [ref for ref in refs if ref.startswith(("refs/nexus/queue", "refs/nexus/claims"))] == []
    assert {ref.rpartition("/")[2] for ref in refs if ref.startswith("refs/nexus/runs/")} == runs.keys()
    wanted = {run: ([True], ["main"] if n % 5 else ["begin", "end"], f"{n}\n") for run, n in runs.items()}
    assert {run: result(hub, run) for run in runs} == wanted


def result(hub: Path, run: str) -> tuple[list[bool], list[str], str]:
    """Return how a published run ended, and each time; which nodes were completed, a commit each; and what it made."""
    events = [parse_json(line.encode()) for line in log_of(hub, run).splitlines()]
    ends = [event["body"]["ok"] for event in events if event["kind"] == "run.finished"]
    nodes = [event["body"]["node"] for event in events if event["kind"] == "node.completed"]
    assert int(run_git(hub, "rev-list", "--count", f"refs/heads/main..refs/heads/nexus/{run}")) == len(nodes)
    made = run_git(hub, "show", f"refs/heads/nexus/{run}:made.txt", check=False)
    return ends, nodes, made or "\n".join(event["kind"] for event in events)


def log_of(hub: Path, run: str) -> str:
    names = run_git(hub, "ls-tree", "--name-only", f"refs/nexus/runs/{run}:events").split()
    return "".join(run_git(hub, "show", f"refs/nexus/runs/{run}:events/{name}") for name in names)
