"""How far a workflow is, folded from the events of its run and from nothing else: no clock, no disk, no network."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gitnexus.base.canonical import document
from gitnexus.events.model import Event

NodeStatus = Literal["", "started", "completed", "blocked", "failed"]
ActionStatus = Literal["proposed", "waiting", "approved", "denied", "executed", "unknown"]
# The one step of a node that has no plan.
WHOLE = "-"


@dataclass(slots=True)
class StepState:
    """A step: the digest of what its specialist gave, what was proposed for it, and how it ended."""

    result: str = ""
    actions: list[str] = field(default_factory=list)
    ok: bool | None = None
    why: str = ""


@dataclass(slots=True)
class Block:
    """Why a node could not go on: what it needs, in which step, and the handoff or question that came of it."""

    needs: str
    why: str
    step: str = ""
    kept: str = ""
    handoff: str = ""
    question: str = ""
    answer: str = ""


@dataclass(slots=True)
class Batch:
    """Steps that are done together; `ok` is None while they are."""

    id: str
    steps: tuple[str, ...]
    cu: int
    ok: bool | None = None


@dataclass(slots=True)
class NodeState:
    """A node: how far it is, the digests of what it gave by name, its steps, and what stood in its way."""

    status: NodeStatus = ""
    attempts: int = 0
    why: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, StepState] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    tokens: int = 0
    cost: int = 0

    @property
    def open_step(self) -> tuple[str, StepState] | None:
        """The step whose specialist has answered, and which is not over."""
        return next(((name, one) for name, one in self.steps.items() if one.result and one.ok is None), None)


@dataclass(slots=True)
class ActionState:
    """What was proposed, by whom, and what became of it. `by` is who said no."""

    kind: str
    node: str
    status: ActionStatus = "proposed"
    ok: bool | None = None
    by: str = ""


@dataclass(slots=True)
class Progress:
    """The whole."""

    nodes: dict[str, NodeState] = field(default_factory=dict)
    actions: dict[str, ActionState] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    ended: str = ""
    why: str = ""
    seq: int = 0

    def node(self, id_: str) -> NodeState:
        """Return the state of a node, made if there is none yet."""
        return self.nodes.setdefault(id_, NodeState())

    def status(self, id_: str) -> NodeStatus:
        """Return how far a node is, nothing if it never began."""
        found = self.nodes.get(id_)
        return found.status if found else ""

    @property
    def tokens(self) -> int:
        """All tokens that were spent."""
        return sum(one.tokens for one in self.nodes.values())

    @property
    def cost(self) -> int:
        """All that was paid, in millionths of a dollar."""
        return sum(one.cost for one in self.nodes.values())

    def fold(self, events: Iterable[Event]) -> None:
        """Take in what happened."""
        for event in events:
            step = _STEPS.get(event.kind)
            if step is not None:
                step(self, event.body)
            self.seq = event.seq

    def state(self) -> bytes:
        """Return the canonical bytes of where the workflow stands: equal for equal stories, on whatever machine.

        How many tokens a call took and who said no by which name is not part of it.
        """
        nodes = {
            id_: {
                "status": one.status, "attempts": one.attempts, "why": one.why, "outputs": one.outputs,
                "steps": {name: [step.result, step.actions, step.ok, step.why] for name, step in one.steps.items()},
                "blocks": [[block.needs, block.why, block.step, block.handoff, block.question, block.answer]
                           for block in one.blocks],
                "batches": [[batch.id, list(batch.steps), batch.cu, batch.ok] for batch in one.batches],
            }
            for id_, one in self.nodes.items() if one.status
        }  # fmt: skip
        actions = {name: [one.kind, one.node, one.status, one.ok] for name, one in self.actions.items()}
        return document({"nodes": nodes, "actions": actions, "ended": self.ended, "why": self.why})


def _started(run: Progress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.status, node.attempts, node.why = "started", node.attempts + 1, ""


def _completed(run: Progress, body: Mapping[str, Any]) -> None:
    run.node(body["node"]).status = "completed"


def _failed(run: Progress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.status, node.why = "failed", body["why"]


def _blocked(run: Progress, body: Mapping[str, Any]) -> None:
    node = run.node(body["node"])
    node.status, node.why = "blocked", body["why"]
    node.blocks.append(Block(body.get("needs", ""), body["why"], body.get("step", ""), node.outputs.get(BLOCKED, "")))


def _kept(run: Progress, body: Mapping[str, Any]) -> None:
    if "node" not in body:
        return
    node = run.node(body["node"])
    node.outputs[body["name"]] = body["digest"]
    if "step" in body:
        node.steps.setdefault(body["step"], StepState()).result = body["digest"]


def _step_finished(run: Progress, body: Mapping[str, Any]) -> None:
    step = run.node(body["node"]).steps.setdefault(body["step"], StepState())
    step.ok, step.why = body["ok"], body.get("why", "")


def _batch_started(run: Progress, body: Mapping[str, Any]) -> None:
    run.node(body["node"]).batches.append(Batch(body["batch"], tuple(body["steps"]), body["cu"]))


def _batch_finished(run: Progress, body: Mapping[str, Any]) -> None:
    for batch in run.node(body.get("node", "")).batches:
        if batch.id == body["batch"]:
            batch.ok = body["ok"]


def _proposed(run: Progress, body: Mapping[str, Any]) -> None:
    node_id, name = body.get("node", ""), body["action"]
    if name in run.actions:
        return
    run.actions[name] = ActionState(body["actionKind"], node_id)
    if body.get("replaces") in run.actions:
        _replaced(run, body["replaces"], name)
    elif node := run.nodes.get(node_id):
        if node.status == "blocked" and body["actionKind"] == "handoff" and node.blocks:
            node.blocks[-1].handoff = name
        elif found := node.open_step:
            found[1].actions.append(name)


def _replaced(run: Progress, old: str, new: str) -> None:
    """A patch that was made anew, or edited by a person, stands where the one before stood."""
    run.actions[old].status = "denied"
    for node in run.nodes.values():
        for step in node.steps.values():
            step.actions = [new if one == old else one for one in step.actions]


_AFTER: Mapping[str, ActionStatus] = {"allow": "approved", "ask": "waiting", "deny": "denied"}


def _judged(run: Progress, body: Mapping[str, Any]) -> None:
    action = run.actions.get(body["action"])
    if action is None or action.status not in ("proposed", "waiting", "approved"):
        return
    verdict = body["verdict"]
    # As in the log's own fold: a yes of a person is taken back by a no only.
    if not (action.status == "approved" and verdict == "ask" and action.by not in ("", "policy")):
        action.status = _AFTER[verdict]
    if verdict == "deny":
        action.by = body["rule"]


def _granted(run: Progress, body: Mapping[str, Any]) -> None:
    action = run.actions.get(body["action"])
    if action is not None and action.status not in ("executed", "denied"):
        action.status, action.by = "approved", body["by"]


def _denied(run: Progress, body: Mapping[str, Any]) -> None:
    action = run.actions.get(body["action"])
    if action is not None and action.status != "executed":
        action.status, action.by = "denied", body.get("by", "") or body.get("error", "")


def _intended(run: Progress, body: Mapping[str, Any]) -> None:
    if action := run.actions.get(body["action"]):
        action.status = "unknown"


def _executed(run: Progress, body: Mapping[str, Any]) -> None:
    if action := run.actions.get(body["action"]):
        action.status, action.ok = "executed", body["ok"]


def _asked(run: Progress, body: Mapping[str, Any]) -> None:
    run.asked += 1
    run.questions[body["question"]] = body.get("node", "")
    node = run.nodes.get(body.get("node", ""))
    if node is not None and node.status == "blocked" and node.blocks and not node.blocks[-1].question:
        node.blocks[-1].question = body["question"]


def _answered(run: Progress, body: Mapping[str, Any]) -> None:
    node = run.nodes.get(run.questions.pop(body["question"], ""))
    for block in node.blocks if node else ():
        if block.question == body["question"]:
            block.answer = body["text"]


def _spent(run: Progress, body: Mapping[str, Any]) -> None:
    node = run.node(body.get("node", ""))
    node.tokens += body["input"] + body["output"]
    node.cost += body.get("cost", 0)


def _finished(run: Progress, body: Mapping[str, Any]) -> None:
    run.ended, run.why = "completed" if body["ok"] else "failed", body.get("why", "")


def _cancelled(run: Progress, body: Mapping[str, Any]) -> None:
    run.ended, run.why = "cancelled", body.get("why", "")


def _resumed(run: Progress, body: Mapping[str, Any]) -> None:
    run.ended = run.why = ""
    for id_ in body.get("lost", ()):
        run.node(id_).steps.pop(WHOLE, None)


# What a node that is blocked leaves behind, whole.
BLOCKED = "blocked.json"
_STEPS: Mapping[str, Callable[[Progress, Mapping[str, Any]], None]] = {
    "node.started": _started,
    "node.completed": _completed,
    "node.failed": _failed,
    "node.blocked": _blocked,
    "artifact.written": _kept,
    "step.finished": _step_finished,
    "batch.started": _batch_started,
    "batch.finished": _batch_finished,
    "action.proposed": _proposed,
    "action.judged": _judged,
    "action.rejected": _denied,
    "permission.granted": _granted,
    "permission.denied": _denied,
    "tool.intended": _intended,
    "tool.executed": _executed,
    "question.asked": _asked,
    "question.answered": _answered,
    "agent.spent": _spent,
    "run.finished": _finished,
    "run.cancelled": _cancelled,
    "run.resumed": _resumed,
}
