"""What an agent may propose, the canonical request that is judged and bound, and the answer."""

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
# When an agent that edits by itself is asked about: each call before it is made, or what came of all at its end.
Approval = Literal["at-end", "per-action"]
# How agents work, the stricter first: they only propose, or edit a worktree of their own.
Way = Literal["proposer", "contained"]


class ProposedAction(Record):
    """What an agent asks for. `claims` is what it says of risk and tags: logged, never used."""

    id: str
    kind: Kind
    summary: str
    details: Mapping[str, Any]
    claims: Mapping[str, Any] = field(default_factory=dict)


class Request(Record):
    """What will be executed, whole: two requests with one digest do the same thing.

    `project` is the project's id (not its path), `run` the run or session it belongs to, `role` the agent's role.
    """

    kind: ClassVar[Kind]

    project: str
    run: str
    role: str = ""


class Change(Record):
    """One row of the raw difference of two trees; `mode` and `blob` are empty on the side that has nothing.

    `link_target` is the text of a new symbolic link, `binary` true where a new blob holds a NUL: both follow from
    `new_blob`, and stand here so that the gate needs no repository.
    """

    path: str
    old_mode: str = ""
    new_mode: str = ""
    old_blob: str = ""
    new_blob: str = ""
    link_target: str = ""
    binary: bool = False


class PatchRequest(Request):
    """From one tree to another. `changes` is the whole raw difference, sorted by the bytes of the path."""

    kind: ClassVar[Kind] = "patch"

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[Change, ...]


class CommandRequest(Request):
    """One program with its arguments; `program` is the resolved file, `program_digest` what it held.

    `files` are those of the worktree that an argument names, with what they held: `sh build.sh` is no other script.
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


class HandoffRequest(Request):
    """Control goes from one role to another, inside one workflow."""

    kind: ClassVar[Kind] = "handoff"

    workflow: str
    sender: str
    receiver: str
    message_digest: str


class DocumentRequest(Request):
    """A document of ours goes from one content to another: a plan, an agenda, the policy itself."""

    kind: ClassVar[Kind] = "plan_patch"

    path: str
    old_digest: str
    new_digest: str


class AgendaRequest(DocumentRequest):
    """A change of the agenda or of a phase."""

    kind: ClassVar[Kind] = "agenda_patch"


class PolicyRequest(DocumentRequest):
    """A change of the law itself."""

    kind: ClassVar[Kind] = "policy_change"


class MemoryDeleteRequest(Request):
    """Notes are deleted; each named with the digest of what it holds."""

    kind: ClassVar[Kind] = "memory_delete"

    notes: dict[str, str]


class NetworkRequest(Request):
    """A reach outside that is no command of its own: hosts by name and port."""

    kind: ClassVar[Kind] = "network"

    hosts: tuple[str, ...]
    purpose: str


class Decision(Record):
    """The gate's answer: `rule` names what decided, `why` says it in words, `instead` what would change it."""

    verdict: Verdict
    rule: str
    why: str
    risk: int
    tags: tuple[str, ...]
    instead: str = ""
