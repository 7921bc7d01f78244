"""How well agents did in one run, counted from its log in one pass. Pure; no clock, no disk, no network.

The chain is not checked here: who wants proof has `replay --verify`. A line that is no event is passed over, and told.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from io import BytesIO
from typing import Any, NamedTuple

_FORM, _FIT = "E_VALIDATION_FAILED", "E_CONFLICT"
_DECISIONS = ("permission.denied", "checks.ran", "run.finished", "run.cancelled")
_PATCH = ("patch", "propose_patch", "repo.apply_patch")


class Worker(NamedTuple):
    """Who worked: the agent or role, and the adapter behind it. Both are one where nobody took a role."""

    agent: str
    adapter: str


_NOBODY = Worker("unknown", "unknown")


@dataclass(slots=True)
class Tally:
    """What is counted of a worker. `costed` and `metered` say how many calls told their cost and their tokens."""

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

    def add(self, other: "Tally") -> None:
        """Count what another counted, too."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


class RunMeasure(NamedTuple):
    """What one run amounts to: when it began, each worker's count, and how many lines could not be read."""

    run: str
    started: str
    workers: dict[Worker, Tally]
    unreadable: int


def measure(raw: bytes, claimed: frozenset[int] = frozenset()) -> RunMeasure:
    """Return what the log of a run amounts to; half a line at its end is somebody still writing.

    `claimed` are the events that nobody known signed: what they decide is counted as claimed, and as nothing else.
    """
    run = _Measuring()
    for line in BytesIO(raw):
        # Keys are sorted, and after `kind` stands nothing that an agent wrote: the last one is the line's own.
        at = line.rfind(b',"kind":"')
        step = _STEPS.get(line[at + 9 : line.find(b'"', at + 9)]) if at >= 0 else _nothing
        if step is None:
            continue
        try:
            event = json.loads(line)
            body = event["body"]
            if claimed and event["seq"] in claimed and _decides(event["kind"], body):
                run.at(body).claimed += 1
            else:
                step(run, body)
            run.started = run.started or str(event["time"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            run.unreadable += line[-1:] == b"\n"
    return run.ended()


def _decides(kind: str, body: Mapping[str, Any]) -> bool:
    """True for an event that says what a person decided, how tests came out, or how the run ended."""
    if kind == "permission.granted":
        return bool(body["by"] != "policy")
    return kind in _DECISIONS or (kind == "tool.executed" and "tests" in body)


@dataclass(slots=True)
class _Measuring:
    """A count in the making: which node is whose, what became of each action."""

    run: str = ""
    started: str = ""
    first: Worker = _NOBODY
    now: Worker | None = None
    nodes: dict[str, tuple[Worker, str]] = field(default_factory=dict)
    actions: dict[str, tuple[Worker, str]] = field(default_factory=dict)
    # Whose action it is, by node, and the nodes of which steps of a plan were told.
    asking: dict[str, str] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    judged: set[tuple[str, str]] = field(default_factory=set)
    tests: dict[Worker, bool] = field(default_factory=dict)
    patched: Worker | None = None
    over: bool | None = None
    counts: dict[Worker, Tally] = field(default_factory=dict)
    unreadable: int = 0

    def of(self, worker: Worker | None = None) -> Tally:
        """Return the count of a worker, of who is at work if none is named."""
        return self.counts.setdefault(worker or self.now or self.first, Tally())

    def at(self, body: Mapping[str, Any]) -> Tally:
        """Return the count of who did what an event tells: by its action, else by its node."""
        known = self.actions.get(body.get("action", "")) or self.nodes.get(body.get("node", ""))
        return self.of(known[0] if known else None)

    def answered(self, action: str) -> None:
        """Take in that a person said yes or no: whose action it is goes on after that."""
        node = self.asking.get(action, "")
        known = self.nodes.get(node)
        if known is not None and known[1] == "started":
            self.nodes[node] = (known[0], "answered")

    def ended(self) -> RunMeasure:
        """Return the whole. Only the last result of tests counts: an agent mends what failed before."""
        for worker, passed in self.tests.items():
            tally = self.of(worker)
            tally.passed += passed
            tally.broken += not passed
        if self.run and not self.counts:
            self.of(self.first)
        for tally in self.counts.values():
            tally.runs = 1
            tally.completed, tally.failed = int(self.over is True), int(self.over is False)
        return RunMeasure(self.run, self.started, self.counts, self.unreadable)


def _nothing(_run: _Measuring, _body: Mapping[str, Any]) -> None:
    """Refuse a line that has no kind. Raises: ValueError."""
    raise ValueError


def _started(run: _Measuring, body: Mapping[str, Any]) -> None:
    run.run = str(body["run"])
    name = str(body.get("agent") or "unknown")
    run.first = Worker(name, name)


def _resumed(run: _Measuring, _body: Mapping[str, Any]) -> None:
    run.over = None


def _node_started(run: _Measuring, body: Mapping[str, Any]) -> None:
    agent = str(body.get("agent") or run.first.agent)
    run.now = Worker(agent, str(body.get("adapter") or agent))
    before = run.nodes.get(body["node"])
    run.nodes[body["node"]] = (run.now, "started")
    tally = run.of(run.now)
    tally.steps += before is None
    # Who asked, by a question or by an action, and was answered goes on; that is no retry.
    tally.retries += before is not None and before[1] not in ("blocked", "answered")


def _node_at(status: str) -> "_Step":
    def step(run: _Measuring, body: Mapping[str, Any]) -> None:
        known = run.nodes.get(body["node"])
        if known is not None:
            run.nodes[body["node"]] = (known[0], status)

    return step


def _proposed(run: _Measuring, body: Mapping[str, Any]) -> None:
    tally = run.at({"node": body.get("node", "")})
    tally.valid += "by" not in body  # else it is a person's edit of what the agent proposed
    known = run.nodes.get(body.get("node", ""))
    run.asking.setdefault(body["action"], str(body.get("node", "")))
    run.actions.setdefault(body["action"], (known[0] if known else run.now or run.first, str(body["actionKind"])))


def _judged(run: _Measuring, body: Mapping[str, Any]) -> None:
    action, verdict = body["action"], body["verdict"]
    if (action, verdict) not in run.judged:  # judged again at every look: once counts
        run.judged.add((action, verdict))
        run.at(body).asked += verdict == "ask"
        run.at(body).refused += verdict == "deny"


def _rejected(run: _Measuring, body: Mapping[str, Any]) -> None:
    if body["action"] == "edit":  # a person tried
        return
    known = run.actions.get(body["action"])
    error = body.get("error", "" if known else _FORM)
    if error == _FORM:
        run.at(body).invalid += 1
    elif error == _FIT and (known[1] if known else body["action"]) in _PATCH:
        run.at(body).unfit += 1


def _granted(run: _Measuring, body: Mapping[str, Any]) -> None:
    if body["by"] != "policy":
        run.answered(body["action"])
        tally = run.at(body)
        tally.approved += 1
        tally.widened += body["scope"] != "once"


def _denied(run: _Measuring, body: Mapping[str, Any]) -> None:
    run.answered(body["action"])
    run.at(body).denied += 1


def _executed(run: _Measuring, body: Mapping[str, Any]) -> None:
    known = run.actions.get(body["action"])
    worker = known[0] if known else run.now or run.first
    if "tests" in body:
        run.tests[worker] = body["ok"] is True
    if known is not None and known[1] in _PATCH:
        run.of(worker).applied += body["ok"] is True
        run.of(worker).unfit += body["ok"] is not True
        run.patched = worker


def _checks(run: _Measuring, body: Mapping[str, Any]) -> None:
    run.tests[run.patched or run.now or run.first] = body["ok"] is True


def _output(run: _Measuring, body: Mapping[str, Any]) -> None:
    run.at(body).retries += int(body.get("attempt", 1)) > 1
    run.at(body).valid += body["ok"] is True
    run.at(body).invalid += body["ok"] is not True


def _step_finished(run: _Measuring, body: Mapping[str, Any]) -> None:
    # The node itself was counted as a step: that stands for the first one of its plan.
    run.at(body).steps += body["node"] in run.planned
    run.planned.add(body["node"])


def _batch(run: _Measuring, body: Mapping[str, Any]) -> None:
    if body["ok"] is True:
        tally = run.at(body)
        tally.batches += 1
        tally.units += int(body["cu"])


def _spent(run: _Measuring, body: Mapping[str, Any]) -> None:
    tally = run.at(body)
    tally.input += int(body["input"])
    tally.output += int(body["output"])
    tally.metered += bool(body["input"] or body["output"])
    if "cost" in body:
        tally.cost += int(body["cost"])
        tally.costed += 1


def _finished(run: _Measuring, body: Mapping[str, Any]) -> None:
    run.over = body["ok"] is True


def _cancelled(run: _Measuring, _body: Mapping[str, Any]) -> None:
    run.over = False


_Step = Callable[[_Measuring, Mapping[str, Any]], None]
# Kinds that nothing is counted of, which are most lines of a log, are not even parsed.
_STEPS: Mapping[bytes, _Step] = {
    b"workflow.started": _started,
    b"run.resumed": _resumed,
    b"node.started": _node_started,
    b"node.completed": _node_at("completed"),
    b"node.blocked": _node_at("blocked"),
    b"node.failed": _node_at("failed"),
    b"action.proposed": _proposed,
    b"action.judged": _judged,
    b"action.rejected": _rejected,
    b"permission.granted": _granted,
    b"permission.denied": _denied,
    b"tool.executed": _executed,
    b"checks.ran": _checks,
    b"output.checked": _output,
    b"step.finished": _step_finished,
    b"batch.finished": _batch,
    b"agent.spent": _spent,
    b"run.finished": _finished,
    b"run.cancelled": _cancelled,
}
