"""Replays the workflow of a run from its log and artifacts, and checks that the engine writes the same events again.

Specialists and the gate answer what the log says they answered. There is no clock, network or worktree: whoever has the
log and the artifacts of a run reaches the same state, byte for byte.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.log import EventDraft
from gitnexus.events.model import Event, sha256_digest
from gitnexus.policy.model import HandoffRequest
from gitnexus.policy.request import parse_request
from gitnexus.prompts.model import ExecResult
from gitnexus.workflow.budget import CountedPlan
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.engine_protocol import ON_COMMIT, CommitProof, NodeAction
from gitnexus.workflow.flow import WorkflowVerdict
from gitnexus.workflow.outputs import CHANGES, REPORT, Hindrance, parse_output
from gitnexus.workflow.packing import BatchLimits, PackedBatch, PackedPlan
from gitnexus.workflow.progress import BLOCKED, WHOLE, WorkflowProgress
from gitnexus.workflow.specialist import (
    CallUsage,
    SpecialistGaveUp,
    StepLimits,
    UnusableAnswer,
    WorkOrder,
    WorkResult,
)

_ENGINE = frozenset({"node.started", "node.completed", "node.blocked", "node.failed", "output.checked", "agent.spent",
                     "step.finished", "step.retried", "batch.started", "batch.finished"})  # fmt: skip
# Kept with a node, but not by the engine: what was packed for it, and what a program printed.
_BESIDE = ("pack.json", "skill.md", "sources.json", "output-", REPORT)
# Events that tell what a call of a specialist gave; what follows them is what the engine made of it.
_OF_ANSWER = ("agent.spent", "output.checked")
_BLOCKS = ("node.blocked", "node.failed")
_NODE_ACTIONS = ("patch", "command", "handoff", "tree", CHANGES)
_TAKES_OVER = re.compile(r" is down \(.*\), so (\S+) takes over$", re.DOTALL)
_UNUSABLE = "no answer that can be used in "


class ReplayResult(NamedTuple):
    """The result: the state as canonical bytes, how often the walk was started, and how many events it wrote.

    `calls` are those of tools by models, as recorded in the exchanges with them.
    """

    state: bytes
    walks: int
    events: int
    calls: int = 0


class _LogBreaksOff(Exception):
    """The log continues with a new process, or ends here."""


def replay_log(definition: WorkflowDefinition, log: Sequence[Event], fetch: Callable[[str], bytes]) -> ReplayResult:
    """Replay a workflow by its log. Raises: VerificationFailed if the engine would have acted differently."""
    stage = _RecordedStage(log, fetch)
    walks, before = 0, -1
    while True:
        walks += 1
        try:
            engine = Engine(definition, stage, side_by_side=False)
            verdict: WorkflowVerdict | None = engine.walk()
        except _LogBreaksOff:
            verdict = None
        stage.skip_foreign_events()
        if stage.at >= len(log):
            break
        if stage.at == before:
            raise stage.differs or _deviation_error(log[stage.at], "the engine comes to an end")
        before = stage.at
    progress = WorkflowProgress()
    progress.fold(log)
    if engine.progress.seq != progress.seq:
        engine.read_new_events()
    if engine.progress.state() != progress.state():
        raise VerificationFailed("the log folds to another state than the one that the engine comes to")
    _check_recorded_end(log, verdict)
    return ReplayResult(progress.state(), walks, stage.written)


def _check_recorded_end(log: Sequence[Event], verdict: WorkflowVerdict | None) -> None:
    end = next((one for one in reversed(log) if one.kind in ("run.finished", "run.cancelled", "run.resumed")), None)
    if end is None or end.kind != "run.finished" or verdict is None:
        return
    told = (end.body["ok"], end.body.get("why", ""))
    if told != (verdict.ok, verdict.why) and not str(told[1]).startswith("the set-up failed"):
        raise _deviation_error(end, f"it ends {'well' if verdict.ok else 'badly'}: {verdict.why}")


def _deviation_error(event: Event, what: str) -> VerificationFailed:
    return VerificationFailed(
        f"event {event.seq} ({event.kind}) is not what the engine does: {one_line(what, 300)}",
        hint="the log was written by another version of git nexus, or not by this workflow",
        context={"line": event.seq},
    )


class _RecordedStage:
    """A stage that plays a log. `at` is the position: everything before was written again, or came from others."""

    def __init__(self, log: Sequence[Event], fetch: Callable[[str], bytes]) -> None:
        self.at, self.written = 0, 0
        self.differs: VerificationFailed | None = None
        self._log, self._fetch = log, fetch
        self._kept: dict[str, bytes] = {}
        self._asked, self._put = _events_put_by_engine(log)
        self._took_over = _events_of_takeovers(log)

    def skip_foreign_events(self) -> None:
        """Skip events that others wrote; what the engine itself sent to the gate waits until the engine does so."""
        while self.at < len(self._log) and not self._is_engine_event(self._log[self.at]):
            self.at += 1

    def _is_engine_event(self, event: Event) -> bool:
        if event.kind == "artifact.written":
            named = "node" in event.body and "action" not in event.body
            return named and not str(event.body["name"]).startswith(_BESIDE)
        if event.seq in self._took_over:
            return False
        # What a call cost that is no node's, such as the one about the agenda, was not written by the engine.
        beside = event.kind == "agent.spent" and "node" not in event.body
        return (event.kind in _ENGINE and not beside) or event.seq in self._asked or event.seq in self._put

    def events(self, after: int) -> Iterable[Event]:
        self.skip_foreign_events()
        return self._log[after : self.at]

    def write(self, drafts: Sequence[EventDraft]) -> list[Event]:
        self.skip_foreign_events()
        found = []
        for draft in drafts:
            if self.at >= len(self._log):
                raise _LogBreaksOff
            event = self._log[self.at]
            if event.kind != draft.kind or dict(event.body) != dict(draft.body):
                self.differs = _deviation_error(event, f"{draft.kind} {dict(draft.body)}")
                raise _LogBreaksOff
            found.append(event)
            self.at += 1
            self.written += 1
        return found

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        self._kept[sha256_digest(data)] = data
        return ArtifactRef(name=name, digest=sha256_digest(data), size=len(data))

    def read(self, digest: str) -> bytes:
        return self._kept.get(digest) or self._fetch(digest)

    def handoff_of(self, action: str) -> tuple[str, str]:
        for event in self._log:
            if event.kind == "action.proposed" and event.body["action"] == action:
                request = parse_request(self.read(event.body["artifact"]))
                if isinstance(request, HandoffRequest):
                    return request.receiver, self.read(request.message_digest).decode("utf-8", "replace")
        return "", ""

    def call(self, order: WorkOrder) -> WorkResult:
        """Return what the specialist answered then: the next result of this node and step."""
        node, step, wrong, spent = order.node, order.step or WHOLE, [], CallUsage()
        for event in self._log[self.at :]:
            body = event.body
            if body.get("node") != node.id or event.seq in self._took_over:
                continue
            if event.kind == "output.checked" and not body["ok"]:
                wrong.append(body["why"])
            elif event.kind == "agent.spent":
                spent = CallUsage(
                    input=body["input"],
                    output=body["output"],
                    cost=body.get("cost", 0),
                    session=body.get("session", ""),
                )
            elif event.kind == "artifact.written" and body.get("step") == step:
                return WorkResult(
                    output=parse_output(node.type, self.read(body["digest"])), usage=spent, wrong=tuple(wrong)
                )
            elif event.kind == "artifact.written" and body["name"] == BLOCKED:
                found = Hindrance.from_value(parse_json(self.read(body["digest"])), BLOCKED)
                return WorkResult(output=found.blocked, usage=spent, wrong=tuple(wrong))
            elif event.kind == "node.blocked" and "question" in body:
                return WorkResult(output=ExecResult(status="done", summary=""), usage=spent, wrong=tuple(wrong))
            elif event.kind == "node.failed":
                raise self._recorded_failure(order, body["why"], wrong, spent)
            elif event.kind == "node.started":
                break
        raise _LogBreaksOff

    def _recorded_failure(self, order: WorkOrder, why: str, wrong: Sequence[str], spent: CallUsage) -> Failed:
        if why.startswith(_UNUSABLE) and wrong:
            tried = wrong.index(order.feedback) + 1 if order.feedback in wrong else 0
            answer = UnusableAnswer(wrong[min(tried, len(wrong) - 1)])
            answer.usage = CallUsage() if tried else spent  # one event has the usage of all attempts
            return answer
        return SpecialistGaveUp(why, spent, tuple(wrong))

    def act(self, node: WorkflowNode, step: str, node_action: NodeAction) -> str:
        self.skip_foreign_events()
        event = self._log[self.at] if self.at < len(self._log) else None
        if event is None:
            raise _LogBreaksOff
        if event.seq not in self._put:
            return ""  # nothing new: it was answered before
        self.at += 1
        self.skip_foreign_events()
        return f"{node_action.kind} refused: {event.body['why']}" if event.kind == "action.rejected" else ""

    def agent_takes_steps(self, node: str) -> bool:
        """Return whether the program was given steps then: before there was that, it was given the whole plan."""
        return any(event.body.get("node") == node and self._begins_step(event) for event in self._log)

    def asks_about_new_plan(self, node: str) -> bool:
        """Return whether it was asked about then: before there was that, such a plan was used at once."""
        return any(one.kind == "action.proposed" and one.body.get("node") == node for one in self._log)

    def asks_again(self, node: str) -> bool:
        """Return whether it asked again then: before there was that, the node failed."""
        self.skip_foreign_events()
        ends = (one.kind for one in self._log[self.at :] if one.body.get("node") == node and one.kind in _BLOCKS)
        return next(ends, "") == "node.blocked"

    def remarks(self, node: str, text: str) -> str:
        """Return what was told then: before there was that, a review ended with its remarks."""
        self.skip_foreign_events()
        event = self._log[self.at] if self.at < len(self._log) else None
        told = event is not None and event.kind == "step.retried" and event.body.get("by") == node
        return str(event.body["why"]) if event is not None and told else ""

    def _begins_step(self, event: Event) -> bool:
        if event.kind != "artifact.written" or event.body["name"] != BLOCKED:
            return event.kind == "batch.started"
        return Hindrance.from_value(parse_json(self.read(event.body["digest"])), BLOCKED).split is not None

    def agent_questions(self, node: str) -> Sequence[tuple[str, str]]:
        """Return the question by which the node was blocked then."""
        self.skip_foreign_events()
        for event in self._log[self.at :]:
            if event.kind == "node.blocked" and event.body["node"] == node:
                name = str(event.body.get("question", ""))
                return [(name, str(event.body["why"]))] if name else []
            if event.kind in _ENGINE and event.body.get("node") == node and event.kind not in _OF_ANSWER:
                break
        return []

    def prove(
        self, node: WorkflowNode, node_action: NodeAction, commands: Sequence[Sequence[str]], limits: StepLimits
    ) -> str:
        """Return why a proof failed then: the step was tried again before anything was proposed."""
        return self.retry("")

    def prove_commit(self, node: WorkflowNode, commands: Sequence[Sequence[str]]) -> CommitProof:
        """Return what was found then: the step failed or was tried again by it, or a command was asked about."""
        if why := self.retry(""):
            return CommitProof(why)
        event = self._log[self.at] if self.at < len(self._log) else None
        if event is None:
            raise _LogBreaksOff
        if event.seq in self._put:
            return CommitProof(asks=commands)
        why = str(event.body.get("why", "")) if event.kind == "step.finished" else ""
        return CommitProof(why if why.startswith(ON_COMMIT) else "")

    def retry(self, why: str) -> str:
        self.skip_foreign_events()
        event = self._log[self.at] if self.at < len(self._log) else None
        return str(event.body["why"]) if event is not None and event.kind == "step.retried" else ""

    def settle(self, action: str) -> None:
        self.skip_foreign_events()

    def ask(self, question: str, text: str) -> None:
        self.skip_foreign_events()

    def surprise(self, node_action: NodeAction, files: Sequence[str]) -> str:
        """Return what was unexpected then, as the next event says."""
        self.skip_foreign_events()
        event = self._log[self.at] if self.at < len(self._log) else None
        why = str(event.body.get("why", "")) if event else ""
        if event is not None and event.kind == "batch.finished" and why.startswith("surprise in "):
            return why.partition(": ")[2]
        if event is not None and event.kind == "step.finished" and why.startswith("stopped: "):
            return why.removeprefix("stopped: ")
        return ""

    def packed(self, plan: CountedPlan, limits: BatchLimits) -> PackedPlan:
        """Return the batch that was started then, or the split that was requested."""
        self.skip_foreign_events()
        for event in self._log[self.at :]:
            if event.kind == "batch.started":
                made = PackedBatch(steps=tuple(event.body["steps"]), cu=event.body["cu"], ctx_kib=0, risk=0)
                return PackedPlan(batches=(made,) * event.body.get("of", 1))
            if event.kind == "artifact.written" and event.body["name"] == BLOCKED:
                found = Hindrance.from_value(parse_json(self.read(event.body["digest"])), BLOCKED)
                if found.split is not None:
                    return PackedPlan(batches=(), splits=(found.split,))
        raise _LogBreaksOff

    def show(self, node: str, text: str) -> None:
        """Do nothing: nobody watches."""

    def on_completed(self, node: WorkflowNode) -> None:
        """Do nothing: nothing is stored."""


def _events_put_by_engine(log: Sequence[Event]) -> tuple[frozenset[int], frozenset[int]]:
    """Return which questions a blocked node asked, and what the engine sent to the gate.

    The others came from an agent at work, or from a person.
    """
    progress = WorkflowProgress()
    asked, put = set(), set()
    for event in log:
        node = progress.nodes.get(event.body.get("node", ""))
        if event.kind == "question.asked" and node is not None and node.status == "blocked":
            asked.add(event.seq)
        elif event.kind == "action.proposed" and node is not None and "replaces" not in event.body:
            if node.status == "blocked" or node.open_step is not None:
                put.add(event.seq)
        elif event.kind == "action.rejected" and event.body["action"] in _NODE_ACTIONS:
            put.add(event.seq)
        progress.fold([event])
    return frozenset(asked), frozenset(put)


def _events_of_takeovers(log: Sequence[Event]) -> frozenset[int]:
    """Return the events that were written in the middle of a call, because an agent was down and the next took over.

    That is what the first one had spent, and that the next one begins.
    """
    found: set[int] = set()
    pending: dict[str, str] = {}
    for at, event in enumerate(log):
        node = str(event.body.get("node", ""))
        if (
            event.kind == "agent.progress"
            and event.actor == "nexus"
            and (taken := _TAKES_OVER.search(event.body["text"]))
        ):
            pending[node] = taken[1]
            if at and log[at - 1].kind == "agent.spent" and log[at - 1].body.get("node") == node:
                found.add(log[at - 1].seq)
        elif event.kind == "node.started" and node in pending and pending.pop(node) == event.body.get("adapter"):
            found.add(event.seq)
    return frozenset(found)
