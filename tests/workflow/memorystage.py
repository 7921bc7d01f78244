"""A stage in memory: scripted specialists and a scripted gate, for walks that need no repository."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gitnexus.base.errors import Failed
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.kinds import checked
from gitnexus.events.log import Draft
from gitnexus.events.model import Event, digest
from gitnexus.workflow.budget import Plan, Weights
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.packing import Limits, Packed, packed
from gitnexus.workflow.specialist import Order, Output, Returned
from gitnexus.workflow.stage import Deed

# What a specialist does when it is called: an output, words for a failure, or a function of the order.
Play = Output | str | Callable[[Order], Output | Returned]
# What the gate says to a deed: allow, deny, ask (nobody is there), or broken for a command that fails.
Verdict = str


@dataclass
class MemoryStage:
    """Plays for each node what its script says, call after call; the last one again and again."""

    plays: Mapping[str, Sequence[Play]]
    verdict: Callable[[WorkflowNode, Deed], Verdict] = lambda node, deed: "allow"
    log: list[Event] = field(default_factory=list)
    kept: dict[str, bytes] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    deeds: list[tuple[str, str]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    handoffs: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    surprises: Callable[[Deed, Sequence[str]], str] = lambda deed, files: ""
    weights: Weights = field(default_factory=Weights)
    die_after: int = 10**9

    def events(self, after: int) -> Iterable[Event]:
        return self.log[after:]

    def write(self, drafts: Sequence[Draft]) -> list[Event]:
        found = []
        for kind, actor, body in drafts:
            checked(kind, body)
            if len(self.log) >= self.die_after:
                raise KeyboardInterrupt
            found.append(Event(len(self.log) + 1, "", actor, kind, body, ""))
            self.log.append(found[-1])
        return found

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        self.kept[digest(data)] = data
        return ArtifactRef(name=name, digest=digest(data), size=len(data))

    def read(self, digest: str) -> bytes:
        return self.kept[digest]

    def told(self, action: str) -> tuple[str, str]:
        return self.handoffs[action]

    def call(self, order: Order) -> Returned:
        made = sum(one == order.node.id for one, _ in self.calls)
        self.calls.append((order.node.id, order.step))
        script = self.plays.get(order.node.id) or self.plays[order.node.type]
        play = script[min(made, len(script) - 1)]
        found = play(order) if callable(play) else play
        if isinstance(found, str):
            raise Failed(found)
        return found if isinstance(found, Returned) else Returned(output=found)

    def act(self, node: WorkflowNode, step: str, deed: Deed) -> str:
        self.deeds.append((node.id, deed.kind))
        if deed.kind == "tree":
            return ""
        said = self.verdict(node, deed)
        if said == "unfit":
            self.write([Draft("action.rejected", "gate", {"action": deed.kind, "why": "it does not fit"})])
            return f"{deed.kind} refused: it does not fit"
        name = f"a{sum(one.kind == 'action.proposed' for one in self.log) + 1}"
        kind = "plan_patch" if deed.change else deed.kind
        if deed.kind == "handoff":
            self.handoffs[name] = (deed.receiver, deed.message)
        of = "sha256:" + hashlib.sha256(repr(deed).encode()).hexdigest()
        body = {"action": name, "actionKind": kind, "summary": deed.summary, "digest": of, "node": node.id}
        verdict = {"allow": "allow", "broken": "allow", "deny": "deny", "ask": "ask"}[said]
        judged = {"action": name, "verdict": verdict, "rule": "script", "why": said}
        self.write([Draft("action.proposed", "agent", body), Draft("action.judged", "gate", judged)])
        if verdict == "allow":
            self.execute(name, ok=said == "allow")
        return ""

    def execute(self, name: str, *, ok: bool = True, by: str = "policy") -> None:
        of = next(one.body["digest"] for one in self.log if one.body.get("action") == name)
        self.write(
            [
                Draft("permission.granted", "gate", {"action": name, "digest": of, "by": by, "scope": "once"}),
                Draft("tool.intended", "gate", {"action": name, "tool": "t", "digest": of}),
                Draft("tool.executed", "gate", {"action": name, "tool": "t", "ok": ok}),
            ]
        )

    def deny(self, name: str) -> None:
        self.write([Draft("permission.denied", "user", {"action": name, "by": "Me"})])

    def answer(self, question: str, text: str) -> None:
        self.write([Draft("question.answered", "user", {"question": question, "text": text, "by": "Me"})])

    def settle(self, action: str) -> None:
        """Nobody is there."""

    def ask(self, question: str, text: str) -> None:
        if question in self.answers:
            self.answer(question, self.answers[question])

    def surprise(self, deed: Deed, files: Sequence[str]) -> str:
        return self.surprises(deed, files)

    def packed(self, plan: Plan, limits: Limits) -> Packed:
        return packed(plan, self.files, self.weights, limits)

    def show(self, node: str, text: str) -> None:
        self.shown.append(text)

    def completed(self, node: WorkflowNode) -> None:
        """Nothing is kept beyond the run."""

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.log]
