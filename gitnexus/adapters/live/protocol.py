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
    """One file as the program would leave it: its whole text, hunks of a unified diff, or gone. `path` is absolute."""

    path: str
    how: Literal["whole", "hunks", "gone"]
    text: str = ""
    moved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """One call that waits for an answer. `id` is the question's on the wire, `call` the call's in the program.

    `tool` and `given` are the program's own words. `diffs` says instead what files would be, where that is told.
    `performs` is true where we are asked to write the files ourselves. `cwd` is the folder of a command, if it is told.
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
    """What a line came to. `out` is to be sent at once; after `over` there is nothing more to say to the program."""

    said: tuple[AgentEvent, ...] = ()
    asked: tuple[PendingCall, ...] = ()
    out: bytes = b""
    over: bool = False


class LiveConversation(Protocol):
    """One conversation with a program; whatever the bytes, it does not raise."""

    def opened(self) -> bytes:
        """Return what is said first."""

    def feed(self, line: bytes) -> LineOutcome:
        """Take in one line of the program's."""

    def answered(self, asked: PendingCall, *, yes: bool, why: str) -> bytes:
        """Return the answer to a question."""

    def end(self, status: int) -> AgentEnd:
        """Return how it ended."""


def encode_message(value: Mapping[str, Any]) -> bytes:
    """Return one message as a line. Half a character, which JSON can hold, is spelled out."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
