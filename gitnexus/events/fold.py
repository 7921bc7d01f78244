"""The fold: what a run is, computed from its events and nothing else. No clock, no disk, no network."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitnexus.base.errors import Failed, Invalid
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.kinds import readable
from gitnexus.events.model import Event
from gitnexus.events.view import ActionView, NodeView, RunView, Status

# Who said yes where no person did.
POLICY = "policy"
# What was begun and not seen to end, and can be brought to its end without anybody outside of the run noticing.
MENDED = ("patch", "handoff", "plan_patch", "agenda_patch")
_ENDS = ("completed", "failed", "cancelled", "landed")


def fold(events: Iterable[Event], view: RunView | None = None) -> RunView:
    """Return what a run is after these events. Raises: Failed for an event that this version cannot understand."""
    folding = _Folding(view or RunView())
    event = None
    for event in events:
        try:
            readable(event.kind, event.body)
        except Invalid as exc:
            raise Failed(
                f"event {event.seq} is not understood: {exc.message}",
                hint="if a newer git nexus wrote it, use that: nothing is decided on half of a story",
            ) from exc
        STEPS[event.kind](folding, event)
    return folding.view(event)


def after(view: RunView, event: Event) -> RunView:
    """Return what the run is after one more event; `view` stays as it is."""
    return fold((event,), view)


class _Folding:
    """A view in the making, of plain dicts: a frozen record for each event would cost more than reading them."""

    def __init__(self, view: RunView) -> None:
        self.begin = view
        self.run: dict[str, Any] = {}
        self.ended: Status | None = view.status if view.status in _ENDS else None
        self.nodes: dict[str, dict[str, Any]] = {name: dict(vars(node)) for name, node in view.nodes.items()}
        self.actions: dict[str, dict[str, Any]] = {name: dict(vars(one)) for name, one in view.actions.items()}
        self.questions = dict(view.questions)
        self.input, self.output, self.cost = view.input_tokens, view.output_tokens, view.cost
        self.commits = list(view.commits)
        self.artifacts = list(view.artifacts)
        self.nonces = dict.fromkeys(view.nonces)
        self.odd = list(view.odd)

    def strange(self, event: Event, what: str) -> None:
        self.odd.append(f"event {event.seq}: {what}")

    def action(self, event: Event) -> dict[str, Any] | None:
        """Return the action that an event speaks of; one that was never proposed is odd and has no effect."""
        found = self.actions.get(event.body["action"])
        if found is None:
            self.strange(event, f"{event.kind} for an action that was never proposed")
        return found

    def view(self, last: Event | None) -> RunView:
        """Return the frozen view."""
        if last is not None:
            self.run |= {"last": last.time, "seq": last.seq}
        return self.begin.changed(
            **self.run,
            status=self.ended or self._standing(),
            nodes={name: NodeView(**node) for name, node in self.nodes.items()},
            actions={name: ActionView(**action) for name, action in self.actions.items()},
            questions=self.questions,
            input_tokens=self.input,
            output_tokens=self.output,
            cost=self.cost,
            commits=tuple(self.commits),
            artifacts=tuple(self.artifacts),
            nonces=tuple(self.nonces),
            odd=tuple(self.odd),
        )

    def _standing(self) -> Status:
        if self.questions or any(map(_waits, self.actions.values())):
            return "waiting"
        steps = {node["status"] for node in self.nodes.values()}
        if "blocked" in steps or (self._is_handed_over() and "started" not in steps):
            return "blocked"
        return "running"

    def _is_handed_over(self) -> bool:
        """True if somebody was approved to go on, and did not begin."""
        return any(
            action["kind"] == "handoff" and action["status"] == "executed" and step_of(name) not in self.nodes
            for name, action in self.actions.items()
        )


def step_of(handoff: str) -> str:
    """Return the name of the step that an approved handoff becomes."""
    return f"handoff-{handoff}"


def _waits(action: Mapping[str, Any]) -> bool:
    # What was begun and not seen to end needs a person, but for what we can bring to its end ourselves.
    begun = action["status"] == "unknown" and action["kind"] not in MENDED
    return begun or action["status"] == "waiting"


def _started(run: _Folding, event: Event) -> None:
    names = ("run", "definition", "task", "agent", "base", "branch")
    run.run |= {name: event.body[name] for name in names if name in event.body} | {"started": event.time}


def _resumed(run: _Folding, event: Event) -> None:
    if event.body["definition"] != (run.run.get("definition") or run.begin.definition):
        run.strange(event, "resumed with another definition")
    if run.ended == "failed":
        run.ended = None
        run.run["why"] = ""


def _node_started(run: _Folding, event: Event) -> None:
    body = event.body
    before = run.nodes.get(body["node"])
    if before and before["status"] == "completed":
        run.strange(event, f"{body['node']} began again after it was completed")
    attempts = before["attempts"] + 1 if before else 1
    session = before.get("session", "") if before else ""
    run.nodes[body["node"]] = {
        "status": "started", "agent": body.get("agent", ""), "attempts": attempts, "session": session,
        "sandbox": body.get("sandbox", ""),
    }  # fmt: skip


def _node_at(status: str) -> "_Step":
    def step(run: _Folding, event: Event) -> None:
        node = run.nodes.setdefault(event.body["node"], {})
        if not node:
            run.strange(event, f"{event.kind} for a step that never began")
        node |= {"status": status, "why": event.body.get("why", "")}

    return step


def _proposed(run: _Folding, event: Event) -> None:
    body = event.body
    if body["action"] in run.actions:
        # The first one is what was judged and approved; a second of that name must not slip in under it.
        run.strange(event, f"{body['action']} was proposed already")
        return
    run.actions[body["action"]] = {
        "kind": body["actionKind"],
        "summary": body["summary"],
        "digest": body["digest"],
        "status": "proposed",
        "node": body.get("node", ""),
        "why": body.get("why", ""),
        "replaces": body.get("replaces", ""),
        "edited": body.get("by", ""),
    }
    if "replaces" in body:
        _given_up(run, event, body["replaces"])


def _given_up(run: _Folding, event: Event, name: str) -> None:
    """One event puts an action in another's place: a kill never leaves both, or neither."""
    action = run.actions.get(name)
    if action is None or action["status"] not in ("proposed", "waiting"):
        run.strange(event, f"{event.body['action']} replaces {name}, which does not wait")
        return
    action |= {"status": "denied", "by": "", "why": f"{event.body['action']} replaces it"}


_AFTER = {"allow": "approved", "ask": "waiting", "deny": "denied"}


def _judged(run: _Folding, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] not in ("proposed", "waiting", "approved"):
        run.strange(event, f"judged after it was {action['status']}")
        return
    verdict = event.body["verdict"]
    # A yes of a person is not taken back by the gate asking again, only by its no; one of a rule goes with the rule.
    if not (action["status"] == "approved" and verdict == "ask" and action.get("by") not in (None, "", POLICY)):
        action["status"] = _AFTER[verdict]
    action["verdict"] = verdict
    if verdict == "deny":
        action |= {"by": event.body["rule"], "why": event.body["why"]}


def _granted(run: _Folding, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if event.body["digest"] != action["digest"]:
        run.strange(event, "granted for another digest than was proposed")
    elif action["status"] not in ("proposed", "waiting", "approved", "unknown"):
        run.strange(event, f"granted after it was {action['status']}")
    else:
        action |= {"status": "approved", "by": event.body["by"]}


def _refused(run: _Folding, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] == "executed":
        run.strange(event, "denied after it was executed")
        return
    action |= {"status": "denied", "by": event.body.get("by", ""), "why": event.body.get("why", "")}


def _rejected(run: _Folding, event: Event) -> None:
    # What is malformed has no digest and often was never proposed.
    if event.body["action"] in run.actions:
        _refused(run, event)


def _intended(run: _Folding, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if "nonce" in event.body:
        if event.body["nonce"] in run.nonces:
            run.strange(event, "a token was spent twice")
        run.nonces[event.body["nonce"]] = None
    if action["status"] != "approved" or event.body["digest"] != action["digest"]:
        run.strange(event, "begun without an approval of exactly this")
    action["status"] = "unknown"


def _executed(run: _Folding, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] != "unknown":
        run.strange(event, "executed without having been begun")
    action |= {"status": "executed", "ok": event.body["ok"]}


def _asked(run: _Folding, event: Event) -> None:
    run.questions[event.body["question"]] = event.body["text"]


def _answered(run: _Folding, event: Event) -> None:
    if run.questions.pop(event.body["question"], None) is None:
        run.strange(event, "an answer to what was not asked")


def _kept(run: _Folding, event: Event) -> None:
    body = event.body
    run.artifacts.append(ArtifactRef(name=body["name"], digest=body["digest"], size=body["size"]))


def _policy(run: _Folding, event: Event) -> None:
    run.run["policy"] = event.body["digest"]


def _checkpointed(run: _Folding, event: Event) -> None:
    run.run["checkpoint"] = event.body["commit"]


def _committed(run: _Folding, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] not in ("approved", "unknown", "executed"):
        run.strange(event, "committed without an approval")
        return
    if action.get("commit"):
        run.strange(event, "committed twice")
    action["commit"] = event.body["commit"]
    run.commits.append(event.body["commit"])


def _landed(run: _Folding, event: Event) -> None:
    run.ended = "landed"
    run.run["landed"] = event.body["commit"]


def _cancelled(run: _Folding, event: Event) -> None:
    run.ended = "cancelled"
    run.run["why"] = event.body.get("why", "")


def _finished(run: _Folding, event: Event) -> None:
    if run.ended in ("cancelled", "landed"):
        run.strange(event, f"finished after it was {run.ended}")
        return
    run.ended = "completed" if event.body["ok"] else "failed"
    run.run["why"] = event.body.get("why", "")


def _spent(run: _Folding, event: Event) -> None:
    body = event.body
    run.input += body["input"]
    run.output += body["output"]
    run.cost += body.get("cost", 0)
    if "session" in body:
        run.run["session"] = body["session"]
        if body.get("node") in run.nodes:
            run.nodes[body["node"]]["session"] = body["session"]


def _lease_taken(run: _Folding, event: Event) -> None:
    run.run["holder"] = event.body["holder"]


def _lease_lost(run: _Folding, event: Event) -> None:
    if event.body["holder"] == run.run.get("holder", run.begin.holder):
        run.run["holder"] = ""


def _told(run: _Folding, event: Event) -> None:
    """Shown in the timeline; changes nothing."""


_Step = Callable[[_Folding, Event], None]
# A row for each row of kinds.KINDS: a test compares the two, so a kind cannot be forgotten here.
STEPS: Mapping[str, _Step] = {
    "workflow.started": _started,
    "run.resumed": _resumed,
    "node.started": _node_started,
    "node.completed": _node_at("completed"),
    "node.blocked": _node_at("blocked"),
    "node.failed": _node_at("failed"),
    "action.proposed": _proposed,
    "action.judged": _judged,
    "action.rejected": _rejected,
    "permission.granted": _granted,
    "permission.denied": _refused,
    "tool.intended": _intended,
    "tool.executed": _executed,
    "secret.revealed": _told,
    "tool.read": _told,
    "question.asked": _asked,
    "question.answered": _answered,
    "artifact.written": _kept,
    "policy.changed": _policy,
    "run.checkpointed": _checkpointed,
    "run.committed": _committed,
    "output.checked": _told,
    "step.finished": _told,
    "batch.started": _told,
    "batch.finished": _told,
    "checks.ran": _told,
    "run.landed": _landed,
    "run.cancelled": _cancelled,
    "run.finished": _finished,
    "agent.progress": _told,
    "agent.spent": _spent,
    "lease.taken": _lease_taken,
    "lease.lost": _lease_lost,
    "log.recovered": _told,
}
