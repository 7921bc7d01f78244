"""The stage of a run: its log and its shelf, its specialists with their packs, its gate, and who watches."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitnexus.adapters.protocol import Said
from gitnexus.app import deeds, runapproval
from gitnexus.app.keepers import open_state
from gitnexus.app.nodeagent import by_agent, worked_on
from gitnexus.app.nodepack import with_pack
from gitnexus.app.runact import bench_for
from gitnexus.app.runagent import Show
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import Ask, Review
from gitnexus.app.runproposal import proposed_request
from gitnexus.app.runrenew import current
from gitnexus.app.specialists import specialist_of, view_at
from gitnexus.app.workflow import sizes_at
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.fold import MENDED
from gitnexus.events.log import Draft
from gitnexus.events.model import Event
from gitnexus.gateway.patching import checked
from gitnexus.git.private import private
from gitnexus.policy.model import HandoffRequest, Network
from gitnexus.prompts.model import ExecResult
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_values
from gitnexus.workflow.budget import Plan, Weights, touched
from gitnexus.workflow.definition import BACKINGS, WorkflowDefinition, WorkflowNode
from gitnexus.workflow.flow import Flow, is_agent
from gitnexus.workflow.packing import Limits, Packed, packed
from gitnexus.workflow.progress import Progress
from gitnexus.workflow.specialist import Order, Output, Returned, Unfit
from gitnexus.workflow.stage import Deed


@dataclass(slots=True)
class LiveStage:
    """One run being driven."""

    desk: RunDesk
    definition: WorkflowDefinition
    look: Show
    review: Review | None
    network: Network | None
    weights: Weights
    asking: Ask | None = None
    at_completion: Callable[[WorkflowNode], None] = lambda node: None

    def events(self, after: int) -> Iterable[Event]:
        """Return what happened after an event."""
        return [event for event in self.desk.log.read() if event.seq > after]

    def write(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write events down."""
        return self.desk.log.append_many(drafts)

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        """Keep an artifact."""
        return self.desk.artifacts.write(name, data)

    def read(self, digest: str) -> bytes:
        """Return an artifact."""
        return self.desk.artifacts.read(digest)

    def told(self, action: str) -> tuple[str, str]:
        """Return whom a handoff names and what they are told."""
        return handed(self.desk, action)

    def call(self, order: Order) -> Returned:
        """Let a specialist work. Raises: Unfit, NexusError."""
        if order.node.type == "command":
            return worked_on(self.desk, order, self.look, self.network)
        tip = tip_of(self.desk)
        # Opened anew: several work side by side, and what reads objects belongs to one of them.
        with contextlib.closing(open_state(self.desk.repo)) as state:
            desk = RunDesk(state, self.desk.run)
            whole = with_pack(desk, self.definition, order, tip)
            if not is_agent(order.node):
                found = self._answered(desk, whole, tip)
                return replace(found, output=_without_secrets(found.output))
        return worked_on(self.desk, whole, self.look, self.network)

    def _answered(self, desk: RunDesk, order: Order, tip: str) -> Returned:
        """Let who changes no files answer in the form of the node."""
        with view_at(desk, tip) as view:
            whole = replace(order, view=view)
            if order.node.adapter in ("", *BACKINGS):
                return specialist_of(desk, order.node).work(whole)
            return by_agent(desk, whole, self.look, self.network)

    def act(self, node: WorkflowNode, step: str, deed: Deed) -> str:
        """Propose a deed, and do it or ask about it."""
        action, why = deeds.put(self.desk, node, deed, self.paper(node.id) if deed.change else "")
        if action and not why:
            self.settle(action)
        return why

    def settle(self, action: str) -> None:
        """Carry out what is allowed or approved, ask about the rest."""
        desk, known = self.desk, self.desk.view().actions[action]
        if known.kind == "patch" and known.status == "waiting":
            action = current(desk, action) or action
            known = desk.view().actions[action]
        if known.status == "unknown" and known.kind in MENDED:
            runapproval.unknown(desk, action)
        elif known.status in ("proposed", "approved"):
            runapproval.allowed(desk, action)
        if self.review is not None and desk.view().actions[action].status in ("proposed", "waiting", "unknown"):
            self.review(desk, action)

    def paper(self, node: str) -> str:
        """Return the node whose plan a node changes."""
        progress = Progress()
        progress.fold(self.desk.log.read())
        return Flow(self.definition, self.told).paper(progress, node)

    def ask(self, question: str, text: str) -> None:
        """Ask a person who is there."""
        from gitnexus.app.proposing import answered

        said = self.asking(self.desk, question, text) if self.asking else ""
        if said.strip():
            answered(self.desk, said, question)

    def surprise(self, deed: Deed, files: Sequence[str]) -> str:
        """Return what nobody expects of a patch: files that its step does not name."""
        if deed.kind != "patch" or deed.action is None:
            return ""
        named = set(touched(files, self._sizes()))
        try:
            with private(self.desk.worktree) as git:
                raw = deed.action.diff.encode("utf-8", "surrogateescape")
                done = checked(git, tip_of(self.desk), raw, bench_for(self.desk).rule_on)
        except NexusError:
            return ""  # it will be refused, which is told
        beyond = sorted({row.path for row in done.changes} - named)
        return f"it changes {one_line(', '.join(beyond), 200)}, which the plan does not name" if beyond else ""

    def packed(self, plan: Plan, limits: Limits) -> Packed:
        """Return a plan in batches, counted in the files of the run's branch."""
        return packed(plan, self._sizes(), self.weights, limits)

    def _sizes(self) -> Mapping[str, int]:
        return sizes_at(self.desk.state, tip_of(self.desk))

    def show(self, node: str, text: str) -> None:
        """Tell who watches."""
        self.look(Said(kind="progress", text=mask(text, known_values())))

    def completed(self, node: WorkflowNode) -> None:
        """Keep beyond the run what is to be kept."""
        self.at_completion(node)


def handed(desk: RunDesk, action: str) -> tuple[str, str]:
    """Return whom a handoff names and what they are told. Raises: NexusError."""
    request = proposed_request(desk, action)
    if not isinstance(request, HandoffRequest):
        return "", ""
    return request.receiver, desk.artifacts.read(request.message_digest).decode("utf-8", "replace")


def _without_secrets(output: Output) -> Output:
    """Return an output as it may be kept. Raises: Unfit for actions that hold a secret: those cannot be changed."""
    plain = output.plain()
    hidden = _masked(plain)
    if hidden == plain:
        return output
    if isinstance(output, ExecResult) and hidden.get("actions") != plain.get("actions"):
        raise Unfit("an action holds what looks like a secret, and would be kept in the log; leave it out")
    return type(output).from_value(hidden, "the answer")


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value, known_values())
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value
