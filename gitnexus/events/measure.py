"""Counts from the log of one run how well its agents did, in one pass. Pure: no clock, no disk, no network.

The chain is not checked here; `replay --verify` does that. Lines that are not events are skipped and reported.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from io import BytesIO
from typing import Any, NamedTuple

_FORM, _FIT = "E_VALIDATION_FAILED", "E_CONFLICT"
_DECISIONS = ("permission.denied", "checks.ran", "run.finished", "run.cancelled")
_PATCH = ("patch", "propose_patch", "repo.apply_patch")


class MeasuredWorker(NamedTuple):
    """A worker: the agent or role, and the adapter behind it. Both are the same without a role."""

    agent: str
    adapter: str


class MeasuredWork(NamedTuple):
    """A worker at one kind of task: the type of the node, "" for an agent that was started without a workflow."""

    agent: str
    adapter: str
    kind: str = ""


_NOBODY = MeasuredWork("unknown", "unknown")


@dataclass(slots=True)
class WorkerTally:
    """The counts of a worker. `costed` and `metered` are the numbers of calls that reported cost and tokens."""

    runs: int = 0
    completed: int = 0
    failed: int = 0
    steps: int = 0
    retries: int = 0
    valid: int = 0
    invalid: int = 0
    applied: int = 0
    unfit: int = 0
    passed: int = 0
    broken: int = 0
    batches: int = 0
    units: int = 0
    asked: int = 0
    approved: int = 0
    widened: int = 0
    denied: int = 0
    refused: int = 0
    claimed: int = 0
    metered: int = 0
    input: int = 0
    output: int = 0
    costed: int = 0
    cost: int = 0
    # Tools that a model called while it worked: what it got, and what it was refused.
    called: int = 0
    uncalled: int = 0

    def add(self, other: "WorkerTally") -> None:
        """Add the counts of another tally."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


class RunMeasure(NamedTuple):
    """The counts of one run: start time, each worker's tally, and the number of unreadable lines."""

    run: str
    started: str
    workers: dict[MeasuredWorker, WorkerTally]
    unreadable: int
    work: dict[MeasuredWork, WorkerTally]


def measure_run(raw: bytes, claimed: frozenset[int] = frozenset()) -> RunMeasure:
    """Return the counts for the log of a run; a partial last line is still being written and is ignored.

    `claimed` are the events that no known machine signed: decisions among them are counted only as claimed.
    """
    run = _RunCounter()
    for line in BytesIO(raw):
        # Keys are sorted, and no text of an agent comes after `kind`: the last match is the line's own.
        at = line.rfind(b',"kind":"')
        step = _STEPS.get(line[at + 9 : line.find(b'"', at + 9)]) if at >= 0 else _refuse_line
        if step is None:
            continue
        try:
            event = json.loads(line)
            body = event["body"]
            if claimed and event["seq"] in claimed and _is_decision(event["kind"], body):
                run.at(body).claimed += 1
            else:
                step(run, body)
            run.started = run.started or str(event["time"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            run.unreadable += line[-1:] == b"\n"
    return run.ended()


def _is_decision(kind: str, body: Mapping[str, Any]) -> bool:
    """Return True for an event that records a person's decision, a test result, or the end of the run."""
    if kind == "permission.granted":
        return bool(body["by"] != "policy")
    return kind in _DECISIONS or (kind == "tool.executed" and "tests" in body)


@dataclass(slots=True)
class _RunCounter:
    """The counts under construction: the worker of each node, and the outcome of each action."""

    run: str = ""
    started: str = ""
    first: MeasuredWork = _NOBODY
    now: MeasuredWork | None = None
    nodes: dict[str, tuple[MeasuredWork, str]] = field(default_factory=dict)
    actions: dict[str, tuple[MeasuredWork, str]] = field(default_factory=dict)
    # Whose action it is, by node, and the nodes of which steps of a plan were told.
    asking: dict[str, str] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    judged: set[tuple[str, str]] = field(default_factory=set)
    tests: dict[MeasuredWork, bool] = field(default_factory=dict)
    patched: MeasuredWork | None = None
    over: bool | None = None
    counts: dict[MeasuredWork, WorkerTally] = field(default_factory=dict)
    unreadable: int = 0

    def of(self, worker: MeasuredWork | None = None) -> WorkerTally:
        """Return the tally of a worker, by default of the current one."""
        return self.counts.setdefault(worker or self.now or self.first, WorkerTally())

    def at(self, body: Mapping[str, Any]) -> WorkerTally:
        """Return the tally of the worker an event is about: by its action, else by its node."""
        known = self.actions.get(body.get("action", "")) or self.nodes.get(body.get("node", ""))
        return self.of(known[0] if known else None)

    def note_answer(self, action: str) -> None:
        """Record that a person approved or denied an action; its worker is the current one from then on."""
        node = self.asking.get(action, "")
        known = self.nodes.get(node)
        if known is not None and known[1] == "started":
            self.nodes[node] = (known[0], "answered")

    def ended(self) -> RunMeasure:
        """Return the totals. Only the last test result counts, because an agent fixes earlier failures."""
        for worker, passed in self.tests.items():
            tally = self.of(worker)
            tally.passed += passed
            tally.broken += not passed
        if self.run and not self.counts:
            self.of(self.first)
        workers: dict[MeasuredWorker, WorkerTally] = {}
        for work, tally in self.counts.items():
            workers.setdefault(MeasuredWorker(work.agent, work.adapter), WorkerTally()).add(tally)
        for tally in (*self.counts.values(), *workers.values()):
            tally.runs = 1
            tally.completed, tally.failed = int(self.over is True), int(self.over is False)
        return RunMeasure(self.run, self.started, workers, self.unreadable, self.counts)


def _refuse_line(_run: _RunCounter, _body: Mapping[str, Any]) -> None:
    """Reject a line without a kind. Raises: ValueError."""
    raise ValueError


def _on_workflow_started(run: _RunCounter, body: Mapping[str, Any]) -> None:
    run.run = str(body["run"])
    name = str(body.get("agent") or "unknown")
    run.first = MeasuredWork(name, name)


def _on_run_resumed(run: _RunCounter, _body: Mapping[str, Any]) -> None:
    run.over = None


def _on_node_started(run: _RunCounter, body: Mapping[str, Any]) -> None:
    agent = str(body.get("agent") or run.first.agent)
    run.now = MeasuredWork(agent, str(body.get("adapter") or agent), str(body.get("op") or ""))
    before = run.nodes.get(body["node"])
    run.nodes[body["node"]] = (run.now, "started")
    tally = run.of(run.now)
    # Who takes over from another begins; that is no retry of theirs.
    fresh = before is None or before[0] != run.now
    tally.steps += fresh
    # A step that continues after an answer, to a question or an action, is not a retry.
    tally.retries += before is not None and not fresh and before[1] not in ("blocked", "answered")


def _node_status_setter(status: str) -> "_Step":
    def set_status(run: _RunCounter, body: Mapping[str, Any]) -> None:
        known = run.nodes.get(body["node"])
        if known is not None:
            run.nodes[body["node"]] = (known[0], status)

    return set_status


def _on_action_proposed(run: _RunCounter, body: Mapping[str, Any]) -> None:
    tally = run.at({"node": body.get("node", "")})
    tally.valid += "by" not in body  # else it is a person's edit of what the agent proposed
    known = run.nodes.get(body.get("node", ""))
    run.asking.setdefault(body["action"], str(body.get("node", "")))
    run.actions.setdefault(body["action"], (known[0] if known else run.now or run.first, str(body["actionKind"])))


def _on_action_judged(run: _RunCounter, body: Mapping[str, Any]) -> None:
    action, verdict = body["action"], body["verdict"]
    if (action, verdict) not in run.judged:  # judged again at every look: once counts
        run.judged.add((action, verdict))
        run.at(body).asked += verdict == "ask"
        run.at(body).refused += verdict == "deny"


def _on_action_rejected(run: _RunCounter, body: Mapping[str, Any]) -> None:
    if body["action"] == "edit":  # a person tried
        return
    known = run.actions.get(body["action"])
    error = body.get("error", "" if known else _FORM)
    if error == _FORM:
        run.at(body).invalid += 1
    elif error == _FIT and (known[1] if known else body["action"]) in _PATCH:
        run.at(body).unfit += 1


def _on_permission_granted(run: _RunCounter, body: Mapping[str, Any]) -> None:
    if body["by"] != "policy":
        run.note_answer(body["action"])
        tally = run.at(body)
        tally.approved += 1
        tally.widened += body["scope"] != "once"


def _on_permission_denied(run: _RunCounter, body: Mapping[str, Any]) -> None:
    run.note_answer(body["action"])
    run.at(body).denied += 1


def _on_tool_executed(run: _RunCounter, body: Mapping[str, Any]) -> None:
    known = run.actions.get(body["action"])
    worker = known[0] if known else run.now or run.first
    if "tests" in body:
        run.tests[worker] = body["ok"] is True
    if known is not None and known[1] in _PATCH:
        run.of(worker).applied += body["ok"] is True
        run.of(worker).unfit += body["ok"] is not True
        run.patched = worker


def _on_tool_called(run: _RunCounter, body: Mapping[str, Any]) -> None:
    run.at(body).called += body["ok"] is True
    run.at(body).uncalled += body["ok"] is not True


def _on_checks_ran(run: _RunCounter, body: Mapping[str, Any]) -> None:
    run.tests[run.patched or run.now or run.first] = body["ok"] is True


def _on_output_checked(run: _RunCounter, body: Mapping[str, Any]) -> None:
    run.at(body).retries += int(body.get("attempt", 1)) > 1
    run.at(body).valid += body["ok"] is True
    run.at(body).invalid += body["ok"] is not True


def _on_step_finished(run: _RunCounter, body: Mapping[str, Any]) -> None:
    # The node itself was counted as a step: it represents the first one of its plan.
    run.at(body).steps += body["node"] in run.planned
    run.planned.add(body["node"])


def _on_batch_finished(run: _RunCounter, body: Mapping[str, Any]) -> None:
    if body["ok"] is True:
        tally = run.at(body)
        tally.batches += 1
        tally.units += int(body["cu"])


def _on_agent_spent(run: _RunCounter, body: Mapping[str, Any]) -> None:
    tally = run.at(body)
    tally.input += int(body["input"])
    tally.output += int(body["output"])
    tally.metered += bool(body["input"] or body["output"])
    if "cost" in body:
        tally.cost += int(body["cost"])
        tally.costed += 1


def _on_run_finished(run: _RunCounter, body: Mapping[str, Any]) -> None:
    run.over = body["ok"] is True


def _on_run_cancelled(run: _RunCounter, _body: Mapping[str, Any]) -> None:
    run.over = False


_Step = Callable[[_RunCounter, Mapping[str, Any]], None]
# Kinds that nothing is counted of, which are most lines of a log, are not even parsed.
_STEPS: Mapping[bytes, _Step] = {
    b"workflow.started": _on_workflow_started,
    b"run.resumed": _on_run_resumed,
    b"node.started": _on_node_started,
    b"node.completed": _node_status_setter("completed"),
    b"node.blocked": _node_status_setter("blocked"),
    b"node.failed": _node_status_setter("failed"),
    b"action.proposed": _on_action_proposed,
    b"action.judged": _on_action_judged,
    b"action.rejected": _on_action_rejected,
    b"permission.granted": _on_permission_granted,
    b"permission.denied": _on_permission_denied,
    b"tool.executed": _on_tool_executed,
    b"tool.called": _on_tool_called,
    b"checks.ran": _on_checks_ran,
    b"output.checked": _on_output_checked,
    b"step.finished": _on_step_finished,
    b"batch.finished": _on_batch_finished,
    b"agent.spent": _on_agent_spent,
    b"run.finished": _on_run_finished,
    b"run.cancelled": _on_run_cancelled,
}
