"""Records of the gate: proposed actions, canonical requests by kind, and the gate's decision."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal

from gitnexus.base.record import Record

Kind = Literal["handoff", "patch", "command", "plan_patch", "agenda_patch", "policy_change", "memory_delete", "network"]
Verdict = Literal["allow", "ask", "deny"]
Mode = Literal["default", "acceptEdits", "autopilot", "bypass"]
Scope = Literal["once", "session", "repository", "path", "argv", "workflow"]
Level = Literal["L0", "L1", "L2", "L3"]
Network = Literal["none", "loopback", "full"]
# When an editing agent is asked about: before each call, or once about the result.
Approval = Literal["at-end", "per-action"]
# How agents work, stricter first: they only propose, or edit a worktree of their own.
Way = Literal["proposer", "contained"]


class ProposedAction(Record):
    """What an agent asks for. `claims` are its statements on risk and tags: logged, never used."""

    id: str
    kind: Kind
    summary: str
    details: Mapping[str, Any]
    claims: Mapping[str, Any] = field(default_factory=dict)


class Request(Record):
    """Everything that will be executed: requests with equal digests do the same.

    `project` is the project's id (not its path), `run` the run or session, `role` the agent's role.
    """

    kind: ClassVar[Kind]

    project: str
    run: str
    role: str = ""


class PatchRow(Record):
    """One row of the raw diff of two trees; `mode` and `blob` are empty on the side without a file.

    `link_target` is the text of a new symbolic link, `binary` is true if a new blob contains a NUL: both follow from
    `new_blob` and are included so that the gate needs no repository.
    """

    path: str
    old_mode: str = ""
    new_mode: str = ""
    old_blob: str = ""
    new_blob: str = ""
    link_target: str = ""
    binary: bool = False


class PatchRequest(Request):
    """A change from one tree to another. `changes` is the complete raw diff, sorted by path bytes."""

    kind: ClassVar[Kind] = "patch"

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[PatchRow, ...]


class CommandRequest(Request):
    """One program with arguments; `program` is the resolved file, `program_digest` its content.

    `files` are worktree files that an argument names or the program reads by itself, with their content, so that `sh
    build.sh` runs the same script and `make` the same Makefile. `reads` and `writes` are the only files of the worktree
    that it may see and change, as its tool declares; None is no limit.
    """

    kind: ClassVar[Kind] = "command"

    argv: tuple[str, ...]
    program: str
    program_digest: str
    cwd: str
    base: str
    env: dict[str, str]
    limits: dict[str, int]
    stdin_digest: str = ""
    network: Network = "none"
    sandbox: Level = "L1"
    files: dict[str, str] | None = None
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None


class HandoffRequest(Request):
    """A handoff from one role to another inside one workflow."""

    kind: ClassVar[Kind] = "handoff"

    workflow: str
    sender: str
    receiver: str
    message_digest: str


class DocumentRequest(Request):
    """A change of one of our documents: a plan, an agenda, the policy."""

    kind: ClassVar[Kind] = "plan_patch"

    path: str
    old_digest: str
    new_digest: str


class AgendaRequest(DocumentRequest):
    """A change of the agenda or of a phase."""

    kind: ClassVar[Kind] = "agenda_patch"


class PolicyRequest(DocumentRequest):
    """A change of the policy."""

    kind: ClassVar[Kind] = "policy_change"


class MemoryDeleteRequest(Request):
    """Deletion of notes, each with the digest of its content."""

    kind: ClassVar[Kind] = "memory_delete"

    notes: dict[str, str]


class NetworkRequest(Request):
    """Network access that is not a command: hosts by name and port."""

    kind: ClassVar[Kind] = "network"

    hosts: tuple[str, ...]
    purpose: str


class GateDecision(Record):
    """The gate's decision: `rule` is the deciding rule, `why` the reason, `instead` what would change it."""

    verdict: Verdict
    rule: str
    why: str
    risk: int
    tags: tuple[str, ...]
    instead: str = ""
