"""The protocol of a live conversation as pure values: bytes in, questions out, answer bytes back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from gitnexus.adapters.protocol import AgentEnd, AgentEvent

# More than this many at once is no conversation.
MOST_OPEN = 200


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The new content of one file: its whole text, hunks of a unified diff, or its deletion. `path` is absolute."""

    path: str
    how: Literal["whole", "hunks", "gone"]
    text: str = ""
    moved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """One call that waits for an answer. `id` identifies the question, `call` the call in the program.

    `tool` and `given` are in the program's own terms. `diffs` has the new file contents if the program reports them.
    `performs` is true if the program asks us to write the files. `cwd` is the folder of a command, if reported.
    """

    id: str | int
    tool: str
    given: Mapping[str, Any] = field(default_factory=dict)
    diffs: tuple[FileDiff, ...] = ()
    call: str = ""
    cwd: str = ""
    performs: bool = False
    # What the answer has to name: the program's own words for yes and no.
    yes: str = ""
    no: str = ""


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """The result of a line. `out` is to be sent at once; after `over` nothing more may be sent."""

    said: tuple[AgentEvent, ...] = ()
    asked: tuple[PendingCall, ...] = ()
    out: bytes = b""
    over: bool = False


class LiveConversation(Protocol):
    """One conversation with a program; never raises, whatever bytes arrive."""

    def opened(self) -> bytes:
        """Return the first bytes to send."""

    def feed(self, line: bytes) -> LineOutcome:
        """Process one line of the program."""

    def answered(self, asked: PendingCall, *, yes: bool, why: str) -> bytes:
        """Return the bytes that answer a question."""

    def end(self, status: int) -> AgentEnd:
        """Return how the work ended."""


def encode_message(value: Mapping[str, Any]) -> bytes:
    """Return one message as a line. A lone surrogate, which JSON allows, is spelled out."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
