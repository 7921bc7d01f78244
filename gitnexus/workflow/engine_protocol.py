"""Defines what the engine needs from its surroundings: an event log, artifacts, specialists, and a gate for actions."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.log import EventDraft
from gitnexus.events.model import Event
from gitnexus.prompts.model import Action, Blocked
from gitnexus.workflow.budget import CountedPlan
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.packing import BatchLimits, PackedPlan
from gitnexus.workflow.specialist import StepLimits, WorkOrder, WorkResult


class PlanReplacement(NamedTuple):
    """A plan that replaces another one."""

    old: str
    new: str
    plan: bytes


class NodeAction(NamedTuple):
    """One action of a node that needs an approval: an executor's action, a plan change, or a handoff.

    A handoff has a `receiver` and a `message`; `tree` is what an agent left in the worktree. `proofs` are the commands
    that prove a patch: what the policy asks about in them is one question together with it.
    """

    kind: str
    summary: str
    action: Action | None = None
    change: PlanReplacement | None = None
    blocked: Blocked | None = None
    receiver: str = ""
    message: str = ""
    proofs: Sequence[Sequence[str]] = ()


class CommitProof(NamedTuple):
    """What the proof of a step found on what was committed: which command failed, and those that need a yes first."""

    why: str = ""
    asks: Sequence[Sequence[str]] = ()


# Begins the reason of a step whose proof failed after its commit.
ON_COMMIT = "on what was committed"


class Stage(Protocol):
    """One run as its engine sees it. Only `call` is used from several threads."""

    def events(self, after: int) -> Iterable[Event]:
        """Return the events after a sequence number."""

    def write(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """Append events; they are durable when this returns."""

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        """Store an artifact."""

    def read(self, digest: str) -> bytes:
        """Return an artifact."""

    def handoff_of(self, action: str) -> tuple[str, str]:
        """Return the receiver and the message of a handoff."""

    def call(self, order: WorkOrder) -> WorkResult:
        """Call a specialist with the pack and the view of the order. Raises: UnusableAnswer, NexusError."""

    def act(self, node: WorkflowNode, step: str, node_action: NodeAction) -> str:
        """Propose an action and carry it out if allowed; return why the proposal is invalid, empty if it is valid."""

    def agent_takes_steps(self, node: str) -> bool:
        """Return True if the agent's program of a node is given the steps of its plan one by one."""

    def asks_about_new_plan(self, node: str) -> bool:
        """Return True if a plan that a handoff brings in is an action of its own: it changes what is carried out."""

    def asks_again(self, node: str) -> bool:
        """Return True if a node that gives up for the same reason again asks again, and does not fail."""

    def remarks(self, node: str, text: str) -> str:
        """Return what a review tells who did the work, without secrets; empty if the review only stands there."""

    def agent_questions(self, node: str) -> Sequence[tuple[str, str]]:
        """Return the open questions that the agent's program of a node asked a person: name and text."""

    def prove(
        self, node: WorkflowNode, node_action: NodeAction, commands: Sequence[Sequence[str]], limits: StepLimits
    ) -> str:
        """Check the size of a patch, or of what an agent left in the worktree, and run commands on the tree it makes.

        Return what is too much, or which command failed with its last lines; empty if nothing did.
        """

    def prove_commit(self, node: WorkflowNode, commands: Sequence[Sequence[str]]) -> CommitProof:
        """Run the commands that did not run yet on what a node committed, as far as the policy allows them."""

    def retry(self, why: str) -> str:
        """Return what to tell the specialist that tries a step again, empty if it does not."""

    def settle(self, action: str) -> None:
        """Continue an unfinished action: carry it out, or ask about it."""

    def ask(self, question: str, text: str) -> None:
        """Ask the user a node's question if one is present; otherwise it is answered later."""

    def surprise(self, node_action: NodeAction, files: Sequence[str]) -> str:
        """Return what is unexpected about an action for a step that names these files, empty if nothing is."""

    def packed(self, plan: CountedPlan, limits: BatchLimits) -> PackedPlan:
        """Return the rest of a plan in batches, computed from the current files."""

    def show(self, node: str, text: str) -> None:
        """Show progress to the user."""

    def on_completed(self, node: WorkflowNode) -> None:
        """Store what is kept beyond the run, now that a node is completed."""
