"""Computes the state of a run (`RunView`) from its events alone. Pure: no clock, no disk, no network."""

from collections.abc import Callable, Iterable, Mapping

from gitnexus.base.errors import Failed, Invalid
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.kinds import check_event_readable
from gitnexus.events.model import Event
from gitnexus.events.view import RunView
from gitnexus.events.view_builder import ViewBuilder

# Who said yes where no person did.
POLICY = "policy"


def fold(events: Iterable[Event], view: RunView | None = None) -> RunView:
    """Return the state of a run after these events. Raises: Failed for an event that this version does not support."""
    folding = ViewBuilder(view or RunView())
    event = None
    for event in events:
        try:
            check_event_readable(event.kind, event.body)
        except Invalid as exc:
            raise Failed(
                f"event {event.seq} is not understood: {exc.message}",
                hint="if a newer git nexus wrote it, use that: nothing is decided on half of a story",
            ) from exc
        STEPS[event.kind](folding, event)
    return folding.view(event)


def fold_next_event(view: RunView, event: Event) -> RunView:
    """Return the state of the run after one more event; `view` is not changed."""
    return fold((event,), view)


def _on_workflow_started(run: ViewBuilder, event: Event) -> None:
    names = ("run", "definition", "task", "agent", "base", "branch", "policy")
    run.run |= {name: event.body[name] for name in names if name in event.body} | {"started": event.time}


def _on_run_resumed(run: ViewBuilder, event: Event) -> None:
    if event.body["definition"] != (run.run.get("definition") or run.begin.definition):
        run.mark_odd(event, "resumed with another definition")
    if run.ended == "failed":
        run.ended = None
        run.run["why"] = ""
    for name in event.body.get("again", ()):
        if run.nodes.get(name, {}).get("status") == "failed":
            run.nodes[name] |= {"status": "started", "why": ""}


def _on_node_started(run: ViewBuilder, event: Event) -> None:
    body = event.body
    before = run.nodes.get(body["node"])
    if before and before["status"] == "completed":
        run.mark_odd(event, f"{body['node']} began again after it was completed")
    attempts = before["attempts"] + 1 if before else 1
    adapter = body.get("adapter", "")
    # A session is of one program: who takes over from another does not continue it.
    session = before.get("session", "") if before and before.get("adapter", "") == adapter else ""
    run.nodes[body["node"]] = {
        "status": "started",
        "agent": body.get("agent", ""),
        "attempts": attempts,
        "session": session,
        "sandbox": body.get("sandbox", ""),
        "adapter": adapter,
    }


def _on_step_retried(run: ViewBuilder, event: Event) -> None:
    """A step of an agent that had ended is not over: a person denied what came of it, and said why."""
    node = run.nodes.get(event.body["node"])
    if node is not None and node["status"] == "completed":
        status = "started" if "by" in event.body else "blocked"
        node |= {"status": status, "why": event.body["why"] if status == "blocked" else ""}


def _node_status_setter(status: str) -> "_Step":
    def set_status(run: ViewBuilder, event: Event) -> None:
        node = run.nodes.setdefault(event.body["node"], {})
        if not node:
            run.mark_odd(event, f"{event.kind} for a step that never began")
        node |= {"status": status, "why": event.body.get("why", "")}

    return set_status


def _on_action_proposed(run: ViewBuilder, event: Event) -> None:
    body = event.body
    if body["action"] in run.actions:
        # The first one is what was judged and approved; a second of that name must not slip in under it.
        run.mark_odd(event, f"{body['action']} was proposed already")
        return
    before = run.actions.get(body.get("replaces", ""), {})
    run.actions[body["action"]] = {
        "kind": body["actionKind"],
        "summary": body["summary"],
        "digest": body["digest"],
        "status": "proposed",
        "node": body.get("node", ""),
        "why": body.get("why", ""),
        "replaces": body.get("replaces", ""),
        "edited": body.get("by", ""),
        "proofs": tuple(body.get("proofs", before.get("proofs", ()))),
    }
    if "replaces" in body:
        _give_up_action(run, event, body["replaces"])


def _give_up_action(run: ViewBuilder, event: Event, name: str) -> None:
    """Replace one action by another in a single event, so that a kill never leaves both or neither."""
    action = run.actions.get(name)
    if action is None or action["status"] not in ("proposed", "waiting"):
        run.mark_odd(event, f"{event.body['action']} replaces {name}, which does not wait")
        return
    action |= {"status": "denied", "by": "", "why": f"{event.body['action']} replaces it"}


_AFTER = {"allow": "approved", "ask": "waiting", "deny": "denied"}


def _on_action_judged(run: ViewBuilder, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] not in ("proposed", "waiting", "approved"):
        run.mark_odd(event, f"judged after it was {action['status']}")
        return
    verdict = event.body["verdict"]
    # A yes of a person is not taken back by the gate asking again, only by its no; one of a rule goes with the rule.
    if not (action["status"] == "approved" and verdict == "ask" and action.get("by") not in (None, "", POLICY)):
        action["status"] = _AFTER[verdict]
    action["verdict"] = verdict
    if verdict == "deny":
        action |= {"by": event.body["rule"], "why": event.body["why"]}


def _on_permission_granted(run: ViewBuilder, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if event.body["digest"] != action["digest"]:
        run.mark_odd(event, "granted for another digest than was proposed")
    elif action["status"] not in ("proposed", "waiting", "approved", "unknown"):
        run.mark_odd(event, f"granted after it was {action['status']}")
    else:
        action |= {"status": "approved", "by": event.body["by"]}


def _on_permission_denied(run: ViewBuilder, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] == "executed":
        run.mark_odd(event, "denied after it was executed")
        return
    action |= {"status": "denied", "by": event.body.get("by", ""), "why": event.body.get("why", "")}


def _on_action_rejected(run: ViewBuilder, event: Event) -> None:
    # What is malformed has no digest and often was never proposed.
    if event.body["action"] in run.actions:
        _on_permission_denied(run, event)


def _on_tool_intended(run: ViewBuilder, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if "nonce" in event.body:
        if event.body["nonce"] in run.nonces:
            run.mark_odd(event, "a token was spent twice")
        run.nonces[event.body["nonce"]] = None
    if action["status"] != "approved" or event.body["digest"] != action["digest"]:
        run.mark_odd(event, "started without an approval of exactly this")
    action["status"] = "unknown"


def _on_tool_executed(run: ViewBuilder, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] != "unknown":
        run.mark_odd(event, "executed without having been started")
    body = event.body
    action |= {"status": "executed", "ok": body["ok"], "exit": body.get("status")}
    action["output"] = "" if body["ok"] else body.get("result", "")


def _on_question_asked(run: ViewBuilder, event: Event) -> None:
    run.questions[event.body["question"]] = event.body["text"]


def _on_question_answered(run: ViewBuilder, event: Event) -> None:
    if run.questions.pop(event.body["question"], None) is None:
        run.mark_odd(event, "an answer to what was not asked")


def _on_artifact_written(run: ViewBuilder, event: Event) -> None:
    body = event.body
    run.artifacts.append(ArtifactRef(name=body["name"], digest=body["digest"], size=body["size"]))


def _on_policy_changed(run: ViewBuilder, event: Event) -> None:
    run.run["policy"] = event.body["digest"]


def _on_run_checkpointed(run: ViewBuilder, event: Event) -> None:
    run.run["checkpoint"] = event.body["commit"]


def _on_run_committed(run: ViewBuilder, event: Event) -> None:
    action = run.action(event)
    if action is None:
        return
    if action["status"] not in ("approved", "unknown", "executed"):
        run.mark_odd(event, "committed without an approval")
        return
    if action.get("commit"):
        run.mark_odd(event, "committed twice")
    action["commit"] = event.body["commit"]
    run.commits.append(event.body["commit"])


def _on_run_landed(run: ViewBuilder, event: Event) -> None:
    run.ended = "landed"
    run.run["landed"] = event.body["commit"]


def _on_decision_contradicted(run: ViewBuilder, event: Event) -> None:
    body = event.body
    if run.action(event) is not None:
        run.disputed[body["action"]] = body.get("text") or f"{body['here']} here and {body['elsewhere']} elsewhere"


def _on_decision_settled(run: ViewBuilder, event: Event) -> None:
    body, action = event.body, run.action(event)
    if action is None or run.disputed.pop(body["action"], None) is None:
        return
    action["settled"], action["settler"] = body["how"], body["by"]
    if body["how"] == "denied" and run.ended == "completed":
        run.ended = "failed"
        run.run["why"] = f"{body['action']} denied"
    elif body["how"] == "approved" and run.ended == "failed" and _failed_by_what_was_settled(run):
        run.ended = "completed"  # the clone that approved it carried it out
        run.run["why"] = ""


def _failed_by_what_was_settled(run: ViewBuilder) -> bool:
    """True if a run failed only because actions were denied here that a person settled as approved since."""
    names, denied, rest = run.run.get("why", run.begin.why).partition(" denied")
    known = [run.actions.get(name) for name in names.split(", ")]
    return bool(denied) and not rest and all(one is not None and one.get("settled") == "approved" for one in known)


def _on_run_cancelled(run: ViewBuilder, event: Event) -> None:
    run.ended = "cancelled"
    run.run["why"] = event.body.get("why", "")


def _on_run_finished(run: ViewBuilder, event: Event) -> None:
    if run.ended in ("cancelled", "landed"):
        run.mark_odd(event, f"finished after it was {run.ended}")
        return
    run.ended = "completed" if event.body["ok"] else "failed"
    run.run["why"] = event.body.get("why", "")


def _on_agent_spent(run: ViewBuilder, event: Event) -> None:
    body = event.body
    run.input += body["input"]
    run.output += body["output"]
    run.cost += body.get("cost", 0)
    if "session" in body:
        run.run["session"] = body["session"]
        if body.get("node") in run.nodes:
            run.nodes[body["node"]]["session"] = body["session"]


def _on_lease_taken(run: ViewBuilder, event: Event) -> None:
    run.run["holder"] = event.body["holder"]


def _on_lease_lost(run: ViewBuilder, event: Event) -> None:
    if event.body["holder"] == run.run.get("holder", run.begin.holder):
        run.run["holder"] = ""


def _ignore_event(run: ViewBuilder, event: Event) -> None:
    """Change nothing; the event is only shown in the timeline."""


_Step = Callable[[ViewBuilder, Event], None]
# A row for each row of kinds.KINDS: a test compares the two, so a kind cannot be forgotten here.
STEPS: Mapping[str, _Step] = {
    "workflow.started": _on_workflow_started,
    "run.resumed": _on_run_resumed,
    "node.started": _on_node_started,
    "node.completed": _node_status_setter("completed"),
    "node.blocked": _node_status_setter("blocked"),
    "node.failed": _node_status_setter("failed"),
    "action.proposed": _on_action_proposed,
    "action.judged": _on_action_judged,
    "action.rejected": _on_action_rejected,
    "permission.granted": _on_permission_granted,
    "permission.denied": _on_permission_denied,
    "tool.intended": _on_tool_intended,
    "tool.executed": _on_tool_executed,
    "secret.revealed": _ignore_event,
    "tool.read": _ignore_event,
    "tool.called": _ignore_event,
    "question.asked": _on_question_asked,
    "question.answered": _on_question_answered,
    "artifact.written": _on_artifact_written,
    "policy.changed": _on_policy_changed,
    "run.checkpointed": _on_run_checkpointed,
    "run.committed": _on_run_committed,
    "output.checked": _ignore_event,
    "step.finished": _ignore_event,
    "step.retried": _on_step_retried,
    "batch.started": _ignore_event,
    "batch.finished": _ignore_event,
    "checks.ran": _ignore_event,
    "run.landed": _on_run_landed,
    "decision.contradicted": _on_decision_contradicted,
    "decision.settled": _on_decision_settled,
    "run.cancelled": _on_run_cancelled,
    "run.finished": _on_run_finished,
    "agent.progress": _ignore_event,
    "agent.spent": _on_agent_spent,
    "lease.taken": _on_lease_taken,
    "lease.lost": _on_lease_lost,
    "log.recovered": _ignore_event,
}
