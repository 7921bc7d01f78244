"""A run's workflow walked once more with what its log holds: the engine has to write the very same events again.

Specialists answer what they answered then, the gate says what it said then. No clock, no network, no worktree: whoever
has the log and the artifacts of a run comes to the same state, byte for byte.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Failed, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.log import Draft
from gitnexus.events.model import Event, digest
from gitnexus.policy.model import HandoffRequest
from gitnexus.policy.request import parsed
from gitnexus.workflow.budget import Plan
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.flow import Verdict
from gitnexus.workflow.outputs import CHANGES, Hindrance, read
from gitnexus.workflow.packing import Batch, Limits, Packed
from gitnexus.workflow.progress import BLOCKED, WHOLE, Progress
from gitnexus.workflow.specialist import Order, Returned, Unfit, Usage
from gitnexus.workflow.stage import Deed

_ENGINE = frozenset({"node.started", "node.completed", "node.blocked", "node.failed", "output.checked", "agent.spent",
                     "step.finished", "batch.started", "batch.finished"})  # fmt: skip
# Kept with a node, but not by the engine: what was packed for it, and what a program printed.
_BESIDE = ("pack.json", "output-")
_DEEDS = ("patch", "command", "handoff", "tree", CHANGES)
_UNUSABLE = "no answer that can be used in "


class Replayed(NamedTuple):
    """What came of it: the state as canonical bytes, how often the walk was begun, and how many events it wrote."""

    state: bytes
    walks: int
    events: int


class _Cut(Exception):
    """The log goes on with a new process, or ends here."""


def replayed(definition: WorkflowDefinition, log: Sequence[Event], fetch: Callable[[str], bytes]) -> Replayed:
    """Walk a workflow by its log. Raises: VerificationFailed where the engine would have done something else."""
    stage = _Recorded(log, fetch)
    walks, before = 0, -1
    while True:
        walks += 1
        try:
            engine = Engine(definition, stage, side_by_side=False)
            verdict: Verdict | None = engine.walk()
        except _Cut:
            verdict = None
        stage.pass_by()
        if stage.at >= len(log):
            break
        if stage.at == before:
            raise stage.differs or _other(log[stage.at], "the engine comes to an end")
        before = stage.at
    progress = Progress()
    progress.fold(log)
    if engine.progress.seq != progress.seq:
        engine.news()
    if engine.progress.state() != progress.state():
        raise VerificationFailed("the log folds to another state than the one that the engine comes to")
    _check_end(log, verdict)
    return Replayed(progress.state(), walks, stage.written)


def _check_end(log: Sequence[Event], verdict: Verdict | None) -> None:
    end = next((one for one in reversed(log) if one.kind in ("run.finished", "run.cancelled")), None)
    if end is None or end.kind != "run.finished" or verdict is None:
        return
    told = (end.body["ok"], end.body.get("why", ""))
    if told != (verdict.ok, verdict.why) and not str(told[1]).startswith("the set-up failed"):
        raise _other(end, f"it ends {'well' if verdict.ok else 'badly'}: {verdict.why}")


def _other(event: Event, what: str) -> VerificationFailed:
    return VerificationFailed(
        f"event {event.seq} ({event.kind}) is not what the engine does: {one_line(what, 300)}",
        hint="the log was written by another git nexus, or by nobody who ran this workflow",
        context={"line": event.seq},
    )


class _Recorded:
    """A stage that plays a log. `at` is where it is: all before was written again, or happened beside the engine."""

    def __init__(self, log: Sequence[Event], fetch: Callable[[str], bytes]) -> None:
        self.at, self.written = 0, 0
        self.differs: VerificationFailed | None = None
        self._log, self._fetch = log, fetch
        self._kept: dict[str, bytes] = {}
        self._asked, self._put = _by_engine(log)

    def pass_by(self) -> None:
        """Go on over what others wrote; what the engine itself put to the gate waits until it does."""
        while self.at < len(self._log) and not self._is_ours(self._log[self.at]):
            self.at += 1

    def _is_ours(self, event: Event) -> bool:
        if event.kind == "artifact.written":
            named = "node" in event.body and "action" not in event.body
            return named and not str(event.body["name"]).startswith(_BESIDE)
        return event.kind in _ENGINE or event.seq in self._asked or event.seq in self._put

    def events(self, after: int) -> Iterable[Event]:
        self.pass_by()
        return self._log[after : self.at]

    def write(self, drafts: Sequence[Draft]) -> list[Event]:
        self.pass_by()
        found = []
        for draft in drafts:
            if self.at >= len(self._log):
                raise _Cut
            event = self._log[self.at]
            if event.kind != draft.kind or dict(event.body) != dict(draft.body):
                self.differs = _other(event, f"{draft.kind} {dict(draft.body)}")
                raise _Cut
            found.append(event)
            self.at += 1
            self.written += 1
        return found

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        self._kept[digest(data)] = data
        return ArtifactRef(name=name, digest=digest(data), size=len(data))

    def read(self, digest: str) -> bytes:
        return self._kept.get(digest) or self._fetch(digest)

    def told(self, action: str) -> tuple[str, str]:
        for event in self._log:
            if event.kind == "action.proposed" and event.body["action"] == action:
                request = parsed(self.read(event.body["artifact"]))
                if isinstance(request, HandoffRequest):
                    return request.receiver, self.read(request.message_digest).decode("utf-8", "replace")
        return "", ""

    def call(self, order: Order) -> Returned:
        """Return what the specialist gave then: the next result of this node and step."""
        node, step, wrong, spent = order.node, order.step or WHOLE, [], Usage()
        for event in self._log[self.at :]:
            body = event.body
            if body.get("node") != node.id:
                continue
            if event.kind == "output.checked" and not body["ok"]:
                wrong.append(body["why"])
            elif event.kind == "agent.spent":
                spent = Usage(input=body["input"], output=body["output"], cost=body.get("cost", 0),
                              session=body.get("session", ""))  # fmt: skip
            elif event.kind == "artifact.written" and body.get("step") == step:
                return Returned(output=read(node.type, self.read(body["digest"])), usage=spent, wrong=tuple(wrong))
            elif event.kind == "artifact.written" and body["name"] == BLOCKED:
                found = Hindrance.from_value(parse(self.read(body["digest"])), BLOCKED)
                return Returned(output=found.blocked, usage=spent, wrong=tuple(wrong))
            elif event.kind == "node.failed":
                raise self._failure(order, body["why"], wrong)
            elif event.kind == "node.started":
                break
        raise _Cut

    def _failure(self, order: Order, why: str, wrong: Sequence[str]) -> Failed:
        if why.startswith(_UNUSABLE) and wrong:
            tried = wrong.index(order.feedback) + 1 if order.feedback in wrong else 0
            return Unfit(wrong[min(tried, len(wrong) - 1)])
        return Failed(why)

    def act(self, node: WorkflowNode, step: str, deed: Deed) -> str:
        self.pass_by()
        event = self._log[self.at] if self.at < len(self._log) else None
        if event is None:
            raise _Cut
        if event.seq not in self._put:
            return ""  # nothing new: it was answered before
        self.at += 1
        self.pass_by()
        return f"{deed.kind} refused: {event.body['why']}" if event.kind == "action.rejected" else ""

    def settle(self, action: str) -> None:
        self.pass_by()

    def ask(self, question: str, text: str) -> None:
        self.pass_by()

    def surprise(self, deed: Deed, files: Sequence[str]) -> str:
        """Return what surprised then: the next event tells."""
        self.pass_by()
        event = self._log[self.at] if self.at < len(self._log) else None
        why = str(event.body.get("why", "")) if event else ""
        if event is not None and event.kind == "batch.finished" and why.startswith("surprise in "):
            return why.partition(": ")[2]
        if event is not None and event.kind == "step.finished" and why.startswith("stopped: "):
            return why.removeprefix("stopped: ")
        return ""

    def packed(self, plan: Plan, limits: Limits) -> Packed:
        """Return the batch that was begun then, or the split that was asked for."""
        self.pass_by()
        for event in self._log[self.at :]:
            if event.kind == "batch.started":
                made = Batch(steps=tuple(event.body["steps"]), cu=event.body["cu"], ctx_kib=0, risk=0)
                return Packed(batches=(made,) * event.body.get("of", 1))
            if event.kind == "artifact.written" and event.body["name"] == BLOCKED:
                found = Hindrance.from_value(parse(self.read(event.body["digest"])), BLOCKED)
                if found.split is not None:
                    return Packed(batches=(), splits=(found.split,))
        raise _Cut

    def show(self, node: str, text: str) -> None:
        """Nobody watches."""

    def completed(self, node: WorkflowNode) -> None:
        """Nothing is kept."""


def _by_engine(log: Sequence[Event]) -> tuple[frozenset[int], frozenset[int]]:
    """Return which questions a blocked node asked, and what the engine put to the gate.

    The others are an agent's while it worked, or a person's.
    """
    progress = Progress()
    asked, put = set(), set()
    for event in log:
        node = progress.nodes.get(event.body.get("node", ""))
        if event.kind == "question.asked" and node is not None and node.status == "blocked":
            asked.add(event.seq)
        elif event.kind == "action.proposed" and node is not None and "replaces" not in event.body:
            if node.status == "blocked" or node.open_step is not None:
                put.add(event.seq)
        elif event.kind == "action.rejected" and event.body["action"] in _DEEDS:
            put.add(event.seq)
        progress.fold([event])
    return frozenset(asked), frozenset(put)
