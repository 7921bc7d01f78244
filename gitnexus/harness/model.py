"""What a program tells us while an agent works in it, and what we answer: the same words for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# The eight events of the contract, in the order in which a session meets them.
Event = Literal[
    "session_start",
    "user_message",
    "subagent_spawn",
    "pre_tool_use",
    "post_tool_use",
    "subagent_complete",
    "context_compact",
    "session_end",
]
EVENTS: tuple[Event, ...] = Event.__args__  # type: ignore[attr-defined]

# `defer` leaves the call waiting for a person elsewhere, and ends the turn; only Claude Code knows it.
Verdict = Literal["", "allow", "ask", "deny", "defer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event as a program told it: all of it input, none of it trusted.

    `name` is the program's own name of the event, `session` and `call` its ids, `agent` the role of a sub-agent and
    `agent_id` its id: both empty for the agent that the person talks to. `given` is what a tool is called with,
    `answer` what it returned. `text` is the message of the person, or the last one of a sub-agent. `headless` is true
    where nobody can be asked.
    """

    harness: str
    event: Event
    name: str
    session: str = ""
    cwd: str = ""
    call: str = ""
    agent: str = ""
    agent_id: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None
    text: str = ""
    source: str = ""
    headless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What we say: `context` is for the model, `notice` for the person, `verdict` and `reason` for a tool call."""

    context: str = ""
    notice: str = ""
    verdict: Verdict = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer in the program's own words: what the hook prints, and how it ends."""

    out: bytes = b""
    err: str = ""
    status: int = 0


class Speech(Protocol):
    """How one program talks. `events` are its own names for each event; none where it lacks one, and `nearest` says
    then what is done instead."""

    events: Mapping[Event, tuple[str, ...]]
    nearest: Mapping[Event, str]

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told, whatever the payload holds."""

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer in the program's words."""

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no that holds even where nothing of the payload could be read."""
