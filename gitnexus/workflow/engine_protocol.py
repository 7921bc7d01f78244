"""What an engine needs of the world around it: a log, a shelf, specialists, and a gate that acts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.log import Draft
from gitnexus.events.model import Event
from gitnexus.prompts.model import Action, Blocked
from gitnexus.workflow.budget import Plan
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.packing import Limits, Packed
from gitnexus.workflow.specialist import Order, Returned


class Change(NamedTuple):
    """A plan that is to become another one."""

    old: str
    new: str
    plan: bytes


class Deed(NamedTuple):
    """One thing to be done for a node once the gate says so: an executor's action, a change of the plan, a handoff.

    A `handoff` is made of whom (`receiver`) and what they are told (`message`); `tree` is what an agent left in the
    worktree.
    """

    kind: str
    summary: str
    action: Action | None = None
    change: Change | None = None
    blocked: Blocked | None = None
    receiver: str = ""
    message: str = ""


class Stage(Protocol):
    """One run as its engine sees it. Only `call` is used from several threads."""

    def events(self, after: int) -> Iterable[Event]:
        """Return what happened after an event, by its number."""

    def write(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write events down; they are durable when this returns."""

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        """Keep an artifact."""

    def read(self, digest: str) -> bytes:
        """Return an artifact."""

    def told(self, action: str) -> tuple[str, str]:
        """Return whom a handoff names and what they are told."""

    def call(self, order: Order) -> Returned:
        """Let a specialist work, with the pack and the view that belong to the order. Raises: Unfit, NexusError."""

    def act(self, node: WorkflowNode, step: str, deed: Deed) -> str:
        """Propose a deed and do it if that is allowed; return why it is no proposal, nothing if it is one."""

    def settle(self, action: str) -> None:
        """Go on with an action that is not over: carry it out, or ask about it."""

    def ask(self, question: str, text: str) -> None:
        """Ask a person who is there what a node wants to know; whoever is not answers later."""

    def surprise(self, deed: Deed, files: Sequence[str]) -> str:
        """Return what nobody expects of a deed for a step that names these files, nothing if all is as planned."""

    def packed(self, plan: Plan, limits: Limits) -> Packed:
        """Return what is left of a plan in batches, counted in the files as they are now."""

    def show(self, node: str, text: str) -> None:
        """Tell who watches."""

    def completed(self, node: WorkflowNode) -> None:
        """A node is through: what is to be kept beyond the run is kept now."""
