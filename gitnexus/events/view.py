"""What a run is, as its log tells it: the records that the fold makes."""

from dataclasses import field
from typing import Literal

from gitnexus.base.record import Record
from gitnexus.events.artifacts import ArtifactRef

Status = Literal["running", "waiting", "blocked", "completed", "failed", "cancelled", "landed"]
NodeStatus = Literal["started", "completed", "blocked", "failed"]
ActionStatus = Literal["proposed", "waiting", "approved", "denied", "executed", "unknown"]


class NodeView(Record):
    """A step: how far it is, how often it was begun, why it stands still, the session of its agent, and its sandbox."""

    status: NodeStatus
    agent: str = ""
    attempts: int = 1
    why: str = ""
    session: str = ""
    sandbox: str = ""


class ActionView(Record):
    """What was asked for and what came of it. `unknown`: it was begun, and nobody saw it end.

    `replaces` was given up for it; `edited` is the person who made it out of that.
    """

    kind: str
    summary: str
    digest: str
    status: ActionStatus
    node: str = ""
    verdict: str = ""
    why: str = ""
    by: str = ""
    ok: bool | None = None
    commit: str = ""
    replaces: str = ""
    edited: str = ""


class RunView(Record):
    """A run as its log tells it. `odd` names events that do not fit the story; nothing is done on their word."""

    run: str = ""
    definition: str = ""
    status: Status = "running"
    task: str = ""
    agent: str = ""
    base: str = ""
    branch: str = ""
    nodes: dict[str, NodeView] = field(default_factory=dict)
    actions: dict[str, ActionView] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    session: str = ""
    commits: tuple[str, ...] = ()
    artifacts: tuple[ArtifactRef, ...] = ()
    nonces: tuple[str, ...] = ()
    policy: str = ""
    holder: str = ""
    checkpoint: str = ""
    landed: str = ""
    why: str = ""
    started: str = ""
    last: str = ""
    seq: int = 0
    odd: tuple[str, ...] = ()
