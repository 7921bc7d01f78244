"""Computes the progress of a workflow from the events of its run alone. Pure: no clock, no disk, no network."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gitnexus.base.canonical import json_document
from gitnexus.events.model import Event

NodeStatus = Literal["", "started", "completed", "blocked", "failed"]
ActionStatus = Literal["proposed", "waiting", "approved", "denied", "executed", "unknown"]
# The one step of a node that has no plan.
WHOLE = "-"


@dataclass(slots=True)
class StepState:
    """A step: the digest of its specialist's output, its proposals, and how it ended."""

    result: str = ""
    actions: list[str] = field(default_factory=list)
    ok: bool | None = None
    why: str = ""
    # What was wrong with what was proposed for it last.
    feedback: str = ""


@dataclass(slots=True)
class NodeBlock:
    """Why a node is blocked: what it needs, in which step, and the resulting handoff or question."""

    needs: str
    why: str
    step: str = ""
    kept: str = ""
    handoff: str = ""
    question: str = ""
    answer: str = ""


@dataclass(slots=True)
class BatchState:
    """Steps that run together; `ok` is None while they run."""

    id: str
    steps: tuple[str, ...]
    cu: int
    ok: bool | None = None


@dataclass(slots=True)
class NodeState:
    """A node: its status, the digests of its outputs by name, its steps, and its blocks."""

    status: NodeStatus = ""
    attempts: int = 0
    why: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, StepState] = field(default_factory=dict)
    blocks: list[NodeBlock] = field(default_factory=list)
    batches: list[BatchState] = field(default_factory=list)
    tokens: int = 0
    cost: int = 0
    # How often each step was answered, right or wrong.
    tries: Counter[str] = field(default_factory=Counter)
    # The session of the agent's program that did each step, to be taken up again.
    sessions: dict[str, str] = field(default_factory=dict)
    # What was proposed since the last step or batch began, and why the last proposal was refused, if one was.
    proposed: list[str] = field(default_factory=list)
    refused: str = ""
    # How many blocks there were when a person let the node be tried again after it had failed.
    blocks_before: int = 0

    @property
    def open_step(self) -> tuple[str, StepState] | None:
        """The step whose specialist has answered and which has not ended."""
        return next(((name, one) for name, one in self.steps.items() if one.result and one.ok is None), None)


@dataclass(slots=True)
class ActionState:
    """A proposed action, its node, and its outcome. `by` is who denied it, `said` why, or the end of its output."""

    kind: str
    node: str
    status: ActionStatus = "proposed"
    ok: bool | None = None
    by: str = ""
    said: str = ""


@dataclass(slots=True)
class WorkflowProgress:
    """The progress of the whole workflow."""

    nodes: dict[str, NodeState] = field(default_factory=dict)
    actions: dict[str, ActionState] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    ended: str = ""
    why: str = ""
    seq: int = 0

    def node(self, id_: str) -> NodeState:
        """Return the state of a node, created if there is none yet."""
        return self.nodes.setdefault(id_, NodeState())

    def status(self, id_: str) -> NodeStatus:
        """Return the status of a node, empty if it never started."""
        found = self.nodes.get(id_)
        return found.status if found else ""

    @property
    def tokens(self) -> int:
        """All tokens spent."""
        return sum(one.tokens for one in self.nodes.values())

    @property
    def cost(self) -> int:
        """The total cost, in millionths of a dollar."""
        return sum(one.cost for one in self.nodes.values())

    def fold(self, events: Iterable[Event]) -> None:
        """Fold events into the progress."""
        for event in events:
            step = _STEPS.get(event.kind)
            if step is not None:
                step(self, event.body)
            self.seq = event.seq

    def state(self) -> bytes:
        """Return the canonical bytes of the progress: equal for equal histories, on any machine.

        Token counts and the names of people who denied something are not included.
        """
        nodes = {
            id_: {
                "status": one.status,
                "attempts": one.attempts,
                "why": one.why,
                "outputs": one.outputs,
                "steps": {name: [step.result, step.actions, step.ok, step.why] for name, step in one.steps.items()},
                "blocks": [
                    [block.needs, block.why, block.step, block.handoff, block.question, block.answer]
                    for block in one.blocks
                ],
                "batches": [[batch.id, list(batch.steps), batch.cu, batch.ok] for batch in one.batches],
            }
            for id_, one in self.nodes.items()
            if one.status
        }
        actions = {name: [one.kind, one.node, one.status, one.ok] for name, one in self.actions.items()}
        return json_document({"nodes": nodes, "actions": actions, "ended": self.ended, "why": self.why})


def _on_node_started(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.status, node.attempts, node.why = "started", node.attempts + 1, ""


def _on_node_completed(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    run.node(body["node"]).status = "completed"


def _on_node_failed(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.status, node.why = "failed", body["why"]


def _on_node_blocked(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.status, node.why = "blocked", body["why"]
    node.blocks.append(
        NodeBlock(
            body.get("needs", ""),
            body["why"],
            body.get("step", ""),
            node.outputs.get(BLOCKED, ""),
            question=body.get("question", ""),
        )
    )


def _on_artifact_written(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    if "node" not in body:
        return
    node = run.node(body["node"])
    node.outputs[body["name"]] = body["digest"]
    if "step" in body:
        node.steps.setdefault(body["step"], StepState()).result = body["digest"]


def _on_step_finished(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    step = node.steps.setdefault(body["step"], StepState())
    step.ok, step.why = body["ok"], body.get("why", "")
    node.proposed, node.refused = [], ""


def _on_step_retried(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    step = node.steps.setdefault(body["step"], StepState())
    step.result, step.actions, step.feedback = "", [], body["why"]
    if review := body.get("by"):
        # A reviewer's remarks: the work goes on, and is reviewed anew.
        node.status, step.ok, step.why = "started", None, ""
        run.node(review).status = ""
        run.node(review).steps.clear()
    # The first answer of an agent's program that edits files is not checked against a form, and counts all the same.
    node.tries[body["step"]] = max(node.tries[body["step"]], 1)
    node.refused = ""


def _on_output_checked(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    run.node(body["node"]).tries[body.get("step", WHOLE)] += 1


def _on_batch_started(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.batches.append(BatchState(body["batch"], tuple(body["steps"]), body["cu"]))
    node.proposed, node.refused = [], ""


def _on_batch_finished(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    for batch in run.node(body.get("node", "")).batches:
        if batch.id == body["batch"]:
            batch.ok = body["ok"]


def _on_action_proposed(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node_id, name = body.get("node", ""), body["action"]
    if name in run.actions:
        return
    run.actions[name] = ActionState(body["actionKind"], node_id)
    if node_id in run.nodes:
        run.nodes[node_id].proposed.append(name)
        run.nodes[node_id].refused = ""
    if body.get("replaces") in run.actions:
        _replace_action(run, body["replaces"], name)
    elif node := run.nodes.get(node_id):
        if node.status == "blocked" and body["actionKind"] == "handoff" and node.blocks:
            node.blocks[-1].handoff = name
        elif found := node.open_step:
            found[1].actions.append(name)


def _replace_action(run: WorkflowProgress, old: str, new: str) -> None:
    """Replace an action by one that was made again or edited by a person."""
    run.actions[old].status = "denied"
    for node in run.nodes.values():
        for step in node.steps.values():
            step.actions = [new if one == old else one for one in step.actions]


_AFTER: Mapping[str, ActionStatus] = {"allow": "approved", "ask": "waiting", "deny": "denied"}


def _on_action_judged(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    action = run.actions.get(body["action"])
    if action is None or action.status not in ("proposed", "waiting", "approved"):
        return
    verdict = body["verdict"]
    # As in the log's own fold: a yes of a person is taken back by a no only.
    if not (action.status == "approved" and verdict == "ask" and action.by not in ("", "policy")):
        action.status = _AFTER[verdict]
    if verdict == "deny":
        action.by, action.said = body["rule"], body["why"]


def _on_permission_granted(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    action = run.actions.get(body["action"])
    if action is not None and action.status not in ("executed", "denied"):
        action.status, action.by = "approved", body["by"]


def _on_action_denied(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    action = run.actions.get(body["action"])
    if action is not None and action.status != "executed":
        action.status, action.by = "denied", body.get("by", "") or body.get("error", "")
        action.said = body.get("why", "")


def _on_action_rejected(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    _on_action_denied(run, body)
    if body["action"] not in run.actions and body.get("node") in run.nodes:
        run.nodes[body["node"]].refused = f"{body['action']} was refused: {body.get('why', '')}"


def _on_tool_intended(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    if action := run.actions.get(body["action"]):
        action.status = "unknown"


def _on_tool_executed(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    if action := run.actions.get(body["action"]):
        action.status, action.ok, action.said = "executed", body["ok"], body.get("result", "")


def _on_question_asked(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    run.asked += 1
    run.questions[body["question"]] = body.get("node", "")
    node = run.nodes.get(body.get("node", ""))
    if node is not None and node.status == "blocked" and node.blocks and not node.blocks[-1].question:
        node.blocks[-1].question = body["question"]


def _on_question_answered(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.nodes.get(run.questions.pop(body["question"], ""))
    if node is None:
        return
    for block in node.blocks:
        if block.question == body["question"]:
            block.answer = body["text"]
            node.tries.clear()  # after an answer the number of attempts starts again


def _on_agent_spent(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    node = run.node(body.get("node", ""))
    node.tokens += body["input"] + body["output"]
    node.cost += body.get("cost", 0)
    if "session" in body:
        node.sessions[body.get("step", WHOLE)] = body["session"]


def _on_run_finished(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    run.ended, run.why = "completed" if body["ok"] else "failed", body.get("why", "")


def _on_run_cancelled(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    run.ended, run.why = "cancelled", body.get("why", "")


def _on_run_resumed(run: WorkflowProgress, body: Mapping[str, Any]) -> None:
    run.ended = run.why = ""
    for id_ in body.get("lost", ()):
        run.node(id_).steps.pop(WHOLE, None)
    for id_ in body.get("again", ()):
        _reset_failed_node(run.node(id_))


def _reset_failed_node(node: NodeState) -> None:
    """Let a node that failed begin again: with the steps that are done, and told why it failed."""
    cleared = not node.blocks or bool(node.blocks[-1].answer)
    node.status = "" if cleared or not node.blocks[-1].handoff else "blocked"
    node.blocks_before = len(node.blocks)
    node.tries.clear()
    for name, step in list(node.steps.items()):
        if step.ok is False or (step.ok is None and name == WHOLE):
            node.steps[name] = StepState(feedback=step.why or node.why)


# What a node that is blocked leaves behind, whole.
BLOCKED = "blocked.json"
_STEPS: Mapping[str, Callable[[WorkflowProgress, Mapping[str, Any]], None]] = {
    "node.started": _on_node_started,
    "node.completed": _on_node_completed,
    "node.failed": _on_node_failed,
    "node.blocked": _on_node_blocked,
    "artifact.written": _on_artifact_written,
    "step.finished": _on_step_finished,
    "step.retried": _on_step_retried,
    "output.checked": _on_output_checked,
    "batch.started": _on_batch_started,
    "batch.finished": _on_batch_finished,
    "action.proposed": _on_action_proposed,
    "action.judged": _on_action_judged,
    "action.rejected": _on_action_rejected,
    "permission.granted": _on_permission_granted,
    "permission.denied": _on_action_denied,
    "tool.intended": _on_tool_intended,
    "tool.executed": _on_tool_executed,
    "question.asked": _on_question_asked,
    "question.answered": _on_question_answered,
    "agent.spent": _on_agent_spent,
    "run.finished": _on_run_finished,
    "run.cancelled": _on_run_cancelled,
    "run.resumed": _on_run_resumed,
}
