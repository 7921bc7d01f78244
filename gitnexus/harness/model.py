"""The records of a hook event and its answer, the same for all programs."""

import os
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

# How long we take at most, in seconds: a program must wait longer than that for its hook, or it continues without us.
# A busy machine takes a hundred times what a quiet one does; a call that is refused for that is an agent's work lost.
GATE_SECONDS = 20.0
OTHER_SECONDS = 8.0
NOTHING: Mapping[str, Any] = MappingProxyType({})

# Claude Code puts longer words into a file and shows the beginning; for the others it is a good measure too.
MOST_CONTEXT = 9_500

# `defer` leaves the call waiting for a person elsewhere, and ends the turn; only Claude Code knows it.
Verdict = Literal["", "allow", "ask", "deny", "defer"]


# Named tuples, for `dataclasses` alone costs a process that lives 30 ms a third of them.
class HarnessEvent(NamedTuple):
    """One event as a program sent it. Everything in it is untrusted input.

    `name` is the program's own name of the event, `session` and `call` its ids, `agent` the role of a sub-agent and
    `agent_id` its id: both are empty for the main agent. `given` are the parameters of a tool call, `answer` is its
    result, `failed` is True if it failed. `text` is the user's message, or the last message of a sub-agent. `source` is
    why a session or a compaction begins or ends. `headless` is True if nobody can be asked, `hears` if the program
    accepts text for the model, `again` if it continues because a hook made it.
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
        """The reader of text for the model at this event: a sub-agent, or the session's main agent."""
        return self.agent_id or self.session


class HookAnswer(NamedTuple):
    """Our answer: `context` is for the model, `notice` for the user, `verdict` and `reason` for a tool call."""

    context: str = ""
    notice: str = ""
    verdict: Verdict = ""
    reason: str = ""


class HookOutput(NamedTuple):
    """An answer in the program's own form: what the hook prints, and its exit status."""

    out: bytes = b""
    err: str = ""
    status: int = 0


class HarnessProtocol(Protocol):
    """The translation for one program.

    `events` are its own names for each event, all of which are to be hooked; empty if it lacks one. `nearest` says what
    is done instead, or what differs. `delegates` are the tools that start a sub-agent, with the fields of its role and
    brief.
    """

    events: Mapping[Event, tuple[str, ...]]
    nearest: Mapping[Event, str]
    delegates: Mapping[str, tuple[str, str]]

    def heard(self, event: Event, payload: Mapping[str, Any]) -> HarnessEvent:
        """Return the event, whatever the payload contains."""

    def ended(self, told: HarnessEvent) -> str | None:
        """Return the id of the sub-agent that ended with a finished tool call, empty if it has no id.

        None if its end is reported by its own event, or has not come yet.
        """

    def render_answer(self, happening: HarnessEvent, answer: HookAnswer) -> HookOutput:
        """Return the answer in the program's form."""

    def refused(self, event: Event, reason: str) -> HookOutput:
        """Return a denial that works even if nothing of the payload could be parsed."""


def answer_no_opinion(told: HarnessEvent) -> HookAnswer:
    """Return an answer that leaves the decision to the program's rules; our OpenCode plug-in needs a plain allow."""
    return HookAnswer(verdict="allow") if told.harness == "opencode" else HookAnswer()


def session_start_folder() -> str:
    """Return the folder in which the session began, "" if the program does not report it; an agent may have left it."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or os.environ.get("GEMINI_PROJECT_DIR") or ""
