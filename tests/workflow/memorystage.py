"""A stage in memory: scripted specialists and a scripted gate, for walks that need no repository."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gitnexus.base.errors import Failed
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.kinds import check_event_body
from gitnexus.events.log import EventDraft
from gitnexus.events.model import Event, sha256_digest
from gitnexus.workflow.budget import CostWeights, CountedPlan
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.engine_protocol import CommitProof, NodeAction
from gitnexus.workflow.packing import BatchLimits, PackedPlan, pack_plan
from gitnexus.workflow.specialist import Output, StepLimits, WorkOrder, WorkResult

# What a specialist does when it is called: an output, words for a failure, or a function of the order.
Play = Output | str | Callable[[WorkOrder], Output | WorkResult]
# What the gate says to a node_action: allow, deny, ask (nobody is there), or broken for a command that fails.
Verdict = str


@dataclass
class MemoryStage:
    """Plays for each node what its script says, call after call; the last one again and again."""

    plays: Mapping[str, Sequence[Play]]
    verdict: Callable[[WorkflowNode, NodeAction], Verdict] = lambda node, node_action: "allow"
    log: list[Event] = field(default_factory=list)
    kept: dict[str, bytes] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    node_actions: list[tuple[str, str]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    handoffs: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    surprises: Callable[[NodeAction, Sequence[str]], str] = lambda node_action, files: ""
    weights: CostWeights = field(default_factory=CostWeights)
    proof: Callable[[NodeAction], str] = lambda node_action: ""
    proved: list[list[str]] = field(default_factory=list)
    commit_proof: Callable[[], CommitProof] = CommitProof
    checked: list[list[str]] = field(default_factory=list)
    die_after: int = 10**9
    asked: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def events(self, after: int) -> Iterable[Event]:
        return self.log[after:]

    def write(self, drafts: Sequence[EventDraft]) -> list[Event]:
        found = []
        for kind, actor, body in drafts:
            check_event_body(kind, body)
            if len(self.log) >= self.die_after:
                raise KeyboardInterrupt
            found.append(Event(len(self.log) + 1, "", actor, kind, body, ""))
            self.log.append(found[-1])
        return found

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        self.kept[sha256_digest(data)] = data
        return ArtifactRef(name=name, digest=sha256_digest(data), size=len(data))

    def read(self, digest: str) -> bytes:
        return self.kept[digest]

    def handoff_of(self, action: str) -> tuple[str, str]:
        return self.handoffs[action]

    def call(self, order: WorkOrder) -> WorkResult:
        made = sum(one == order.node.id for one, _ in self.calls)
        self.calls.append((order.node.id, order.step))
        script = self.plays.get(order.node.id) or self.plays[order.node.type]
        play = script[min(made, len(script) - 1)]
        found = play(order) if callable(play) else play
        if isinstance(found, str):
            raise Failed(found)
        return found if isinstance(found, WorkResult) else WorkResult(output=found)

    def act(self, node: WorkflowNode, step: str, node_action: NodeAction) -> str:
        self.node_actions.append((node.id, node_action.kind))
        if node_action.kind == "tree":
            return ""
        said = self.verdict(node, node_action)
        if said == "unfit":
            self.write([EventDraft("action.rejected", "gate", {"action": node_action.kind, "why": "it does not fit"})])
            return f"{node_action.kind} refused: it does not fit"
        name = f"a{sum(one.kind == 'action.proposed' for one in self.log) + 1}"
        kind = "plan_patch" if node_action.change else node_action.kind
        if node_action.kind == "handoff":
            self.handoffs[name] = (node_action.receiver, node_action.message)
        of = "sha256:" + hashlib.sha256(repr(node_action).encode()).hexdigest()
        body = {"action": name, "actionKind": kind, "summary": node_action.summary, "digest": of, "node": node.id}
        verdict = {"allow": "allow", "broken": "allow", "deny": "deny", "ask": "ask"}[said]
        judged = {"action": name, "verdict": verdict, "rule": "script", "why": said}
        self.write([EventDraft("action.proposed", "agent", body), EventDraft("action.judged", "gate", judged)])
        if verdict == "allow":
            self.execute(name, ok=said == "allow")
        return ""

    def execute(self, name: str, *, ok: bool = True, by: str = "policy") -> None:
        of = next(one.body["digest"] for one in self.log if one.body.get("action") == name)
        self.write(
            [
                EventDraft("permission.granted", "gate", {"action": name, "digest": of, "by": by, "scope": "once"}),
                EventDraft("tool.intended", "gate", {"action": name, "tool": "t", "digest": of}),
                EventDraft("tool.executed", "gate", {"action": name, "tool": "t", "ok": ok}),
            ]
        )

    def deny(self, name: str, why: str = "") -> None:
        body = {"action": name, "by": "Me", **({"why": why} if why else {})}
        self.write([EventDraft("permission.denied", "user", body)])

    def answer(self, question: str, text: str) -> None:
        self.write([EventDraft("question.answered", "user", {"question": question, "text": text, "by": "Me"})])

    def agent_takes_steps(self, node: str) -> bool:
        return True

    def asks_about_new_plan(self, node: str) -> bool:
        return True

    def asks_again(self, node: str) -> bool:
        return True

    def remarks(self, node: str, text: str) -> str:
        return text

    def agent_questions(self, node: str) -> Sequence[tuple[str, str]]:
        return self.asked.get(node, ())

    def prove(
        self, node: WorkflowNode, node_action: NodeAction, commands: Sequence[Sequence[str]], limits: StepLimits
    ) -> str:
        self.proved.append([" ".join(argv) for argv in commands])
        return self.proof(node_action)

    def prove_commit(self, node: WorkflowNode, commands: Sequence[Sequence[str]]) -> CommitProof:
        self.checked.append([" ".join(argv) for argv in commands])
        return self.commit_proof()

    def retry(self, why: str) -> str:
        return why

    def settle(self, action: str) -> None:
        """Nobody is there."""

    def ask(self, question: str, text: str) -> None:
        if question in self.answers:
            self.answer(question, self.answers[question])

    def surprise(self, node_action: NodeAction, files: Sequence[str]) -> str:
        return self.surprises(node_action, files)

    def packed(self, plan: CountedPlan, limits: BatchLimits) -> PackedPlan:
        return pack_plan(plan, self.files, self.weights, limits)

    def show(self, node: str, text: str) -> None:
        self.shown.append(text)

    def on_completed(self, node: WorkflowNode) -> None:
        """Nothing is kept beyond the run."""

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.log]
