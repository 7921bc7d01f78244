"""The records that describe a run as computed from its log: nodes, actions and the run itself."""

from dataclasses import field
from typing import Literal

from gitnexus.base.record import Record
from gitnexus.events.artifacts import ArtifactRef

Status = Literal["running", "waiting", "blocked", "completed", "failed", "cancelled", "landed"]
NodeStatus = Literal["started", "completed", "blocked", "failed"]
ActionStatus = Literal["proposed", "waiting", "approved", "denied", "executed", "unknown"]


class NodeView(Record):
    """A node: its status, number of attempts, why it is blocked, its agent's session and adapter, and its sandbox."""

    status: NodeStatus
    agent: str = ""
    attempts: int = 1
    why: str = ""
    session: str = ""
    sandbox: str = ""
    adapter: str = ""


class ActionView(Record):
    """A requested action and its outcome. `unknown`: it was started, and its end was not seen.

    `replaces` is the action it replaced; `edited` is the person who made it from that one. `exit` is the status of its
    command, and `output` the end of what a failed one printed. A yes to a patch is one to the commands in `proofs` too.
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
    exit: int | None = None
    output: str = ""
    commit: str = ""
    replaces: str = ""
    edited: str = ""
    settled: str = ""
    settler: str = ""
    proofs: tuple[str, ...] = ()


class RunView(Record):
    """A run as computed from its log. `odd` lists events that do not fit; they have no effect."""

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
    disputed: dict[str, str] = field(default_factory=dict)
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
