"""What the door needs of other rooms, each as small as it can be: they are handed in, and tests hand in their own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from gitnexus.base.record import Record
from gitnexus.policy.model import CommandRequest, Decision, Level, Request

# A request's digest; policy/request.py has it.
Digest = Callable[[Request], str]

# Asks a person, showing the words of whoever wants it. Returns the token of their approval, None to leave it waiting.
# Raises: DeniedByPolicy where they said no.
Ask = Callable[[Request, str, Decision, str], str | None]

# Checks a token against the request that is about to be executed and burns it. Raises: VerificationFailed.
Spend = Callable[[str, Request, str], None]

# Hides secrets in a text that leaves.
Mask = Callable[[str], str]

# Writes down what happens: the kind of event and its fields. It is durable when this returns.
Note = Callable[[str, Mapping[str, Any]], None]

# The rule that denies reading a path, or None.
Denied = Callable[[str], str | None]


class Judge(Protocol):
    """The gate: decides, and makes tokens for what it allows by itself."""

    def decide(self, request: Request) -> Decision:
        """Return the verdict on a request. It raises nothing: what it does not understand it denies."""

    def issue(self, request: Request, digest: str, decision: Decision) -> str:
        """Return a token for a request that was allowed."""


class Stream(Protocol):
    """Hides secrets in output that comes in pieces."""

    def feed(self, piece: bytes) -> bytes:
        """Return what can be let go."""

    def finish(self) -> bytes:
        """Return the rest."""


class Ran(Record):
    """How a program ended; `ended_by` names the limit that did it, `cut` counts the bytes of output that are gone."""

    status: int | None
    seconds: float
    level: Level
    signal: int | None = None
    ended_by: str | None = None
    cut: int = 0


class Confine(Protocol):
    """The sandbox, with the worktree it confines to."""

    @property
    def level(self) -> Level:
        """The level that a command started now would run at."""

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a command. Raises: NexusError for a name that is not to be set."""

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        """Return the file that `name` would execute and the digest of its content. Raises: NexusError."""

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> Ran:
        """Execute exactly this request, its output into `sink` piece by piece. Raises: NexusError."""
