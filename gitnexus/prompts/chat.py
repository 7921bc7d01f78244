"""Defines a conversation with a model: messages and offered tools go in; a text, or calls of tools, come out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gitnexus.base.errors import Failed

# The largest answer of a model that is read.
LARGEST = 2 * 2**20
# Takes each piece of what a model writes, while it writes it; an empty one after each answer.
Hear = Callable[[str], None]


class UnusableReply(Failed):
    """The model's answer cannot be used. The model gets the reason and may correct it; `said` is its text."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool that a model may call; `schema` is the JSON Schema of its parameters."""

    name: str
    about: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """A model's call of a tool; the arguments are None if they are not a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave, as the model reads it. `refused` tells why a call was not made, "" if it was."""

    text: str
    ok: bool = True
    refused: str = ""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model answered. `native` is the message as its provider wants it back; tokens are None if unknown."""

    text: str
    calls: tuple[ModelToolCall, ...] = ()
    ended: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    native: Any = None


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """An answer of the model, with the result of each call in it."""

    reply: ChatReply
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """The messages of a prompt, the turns after it, and the tools; after the last call they may not be used."""

    messages: Sequence[Mapping[str, str]]
    turns: Sequence[ChatTurn] = ()
    tools: Sequence[ToolOffer] = ()
    may_call: bool = True
    seconds: float = 120


class ChatClient(Protocol):
    """Speaks with one kind of provider."""

    def ask(self, question: ChatQuestion, hear: Hear | None) -> ChatReply:
        """Return the model's next answer. Raises: RetryLater, RefusedRequest, Failed."""


class ModelTools(Protocol):
    """The tools that a model may call during one prompt, and what limits them."""

    @property
    def offers(self) -> Sequence[ToolOffer]:
        """The tools."""

    @property
    def sources(self) -> Sequence[str]:
        """The references of what was read so far."""

    def call(self, call: ModelToolCall) -> ToolResult:
        """Judge and carry out a call; the model is told what goes wrong. Raises: NexusError to end the prompt."""

    def why_over(self, tokens: int, usd: float | None) -> str:
        """Return why what was used so far is too much, "" if it is not."""


@dataclass(frozen=True, slots=True)
class PromptSession:
    """What accompanies one prompt: its tools, who hears what is written, who keeps the exchange, and a deadline."""

    tools: ModelTools | None = None
    hear: Hear | None = None
    record: Callable[[Mapping[str, Any]], None] = field(default=lambda exchange: None)
    note: Callable[[str], None] = field(default=lambda text: None)
    # By time.monotonic().
    deadline: float | None = None
