"""Interfaces that the gateway takes as arguments: gate, secret masking, sandbox and callbacks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from gitnexus.base.record import Record
from gitnexus.policy.model import CommandRequest, GateDecision, Level, Request

# The digest of a request (policy/request.py).
Digest = Callable[[Request], str]

# Asks a person, showing the requester's summary. Returns the approval token, None to leave it waiting.
# Raises: DeniedByPolicy if they deny it.
Ask = Callable[[Request, str, GateDecision, str], str | None]

# Checks a token against the request to execute, and spends it. Raises: VerificationFailed.
Spend = Callable[[str, Request, str], None]

# Masks secrets in outgoing text.
Mask = Callable[[str], str]

# Logs an event with its kind and fields; durable when this returns.
Note = Callable[[str, Mapping[str, Any]], None]

# Returns the rule that denies reading a path, or None.
Denied = Callable[[str], str | None]


class Judge(Protocol):
    """The gate: decides, and issues tokens for what it allows."""

    def decide(self, request: Request) -> GateDecision:
        """Return the verdict on a request. Never raises: denies what it does not understand."""

    def issue(self, request: Request, digest: str, decision: GateDecision) -> str:
        """Return a token for an allowed request."""


class MaskingStream(Protocol):
    """Masks secrets in output that arrives in pieces."""

    def feed(self, piece: bytes) -> bytes:
        """Return the output that can be released."""

    def finish(self) -> bytes:
        """Return the remaining output."""


class CommandResult(Record):
    """The result of a program; `ended_by` is the limit that ended it, `cut` the number of dropped output bytes."""

    status: int | None
    seconds: float
    level: Level
    signal: int | None = None
    ended_by: str | None = None
    cut: int = 0


class CommandSandbox(Protocol):
    """The sandbox of one worktree."""

    @property
    def level(self) -> Level:
        """The level that a command started now would run at."""

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return the complete environment of a command. Raises: NexusError for a variable that may not be set."""

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        """Return the file that `name` executes and the digest of its content. Raises: NexusError."""

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> CommandResult:
        """Execute exactly this request and stream its output into `sink`. Raises: NexusError."""
