"""What a program tells us while an agent works in it, and what we answer: the same words for all of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

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

# How long we take at most, in seconds: what a program waits for its hook must be more, or it goes on without us.
# A busy machine takes a hundred times what a quiet one does; a call that is refused for that is an agent's work lost.
GATE_SECONDS = 20.0
OTHER_SECONDS = 8.0
NOTHING: Mapping[str, Any] = MappingProxyType({})

# Claude Code puts longer words into a file and shows the beginning; for the others it is a good measure too.
MOST_CONTEXT = 9_500

# `defer` leaves the call waiting for a person elsewhere, and ends the turn; only Claude Code knows it.
Verdict = Literal["", "allow", "ask", "deny", "defer"]


# Named tuples, for `dataclasses` alone costs a process that lives 30 ms a third of them.
class Happening(NamedTuple):
    """One event as a program told it: all of it input, none of it trusted.

    `name` is the program's own name of the event, `session` and `call` its ids, `agent` the role of a sub-agent and
    `agent_id` its id: both empty for the agent that the person talks to. `given` is what a tool is called with,
    `answer` what it returned, `failed` that it did not do its work. `text` is the message of the person, or the last
    one of a sub-agent. `source` is why a session or a compaction begins or ends. `headless` is true where nobody can be
    asked, `hears` where the program takes words for the model, `again` where it goes on because a hook made it.
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
    given: Mapping[str, Any] = NOTHING
    answer: Any = None
    failed: bool = False
    text: str = ""
    source: str = ""
    headless: bool = False
    hears: bool = False
    again: bool = False

    @property
    def reader(self) -> str:
        """Whose words are meant by what is said to the model here: a sub-agent's, or those of the session's own."""
        return self.agent_id or self.session


class Answer(NamedTuple):
    """What we say: `context` is for the model, `notice` for the person, `verdict` and `reason` for a tool call."""

    context: str = ""
    notice: str = ""
    verdict: Verdict = ""
    reason: str = ""


class Spoken(NamedTuple):
    """An answer in the program's own words: what the hook prints, and how it ends."""

    out: bytes = b""
    err: str = ""
    status: int = 0


class Speech(Protocol):
    """How one program talks.

    `events` are its own names for each event, all of which are to be hooked; none where it lacks one. `nearest` says
    what is done instead, or what is not quite the same. `delegates` are the tools that start a sub-agent, with the
    fields that name its role and hold its brief.
    """

    events: Mapping[Event, tuple[str, ...]]
    nearest: Mapping[Event, str]
    delegates: Mapping[str, tuple[str, str]]

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told, whatever the payload holds."""

    def ended(self, told: Happening) -> str | None:
        """Return the sub-agent that has ended with a finished call of a tool that starts one, empty if it has no id.

        None where its end is told by an event of its own, or is still to come.
        """

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer in the program's words."""

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no that holds even where nothing of the payload could be read."""
