"""Translates events and answers of OpenCode: our plug-in forwards each event, and throws an error on a denial.

Fields that the plug-in sends are text unless noted, and a missing one counts as empty: `event` (the name of the hook or
event), `session`, `cwd`, `call`, `tool`, `args` (an object), `answer`, `failed` (true or false), `agent` and `agentId`
(inside a sub-agent: its role, and its own session, while `session` is the one that started it), `text` (the message,
the brief of a sub-agent, its last message), `source`. It receives: `verdict`, `reason`, `context` (for the model: added
to the message or to the answer of the tool) and `notice` (for the user).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Event, HarnessEvent, HookAnswer, HookOutput
from gitnexus.harness.protocols.fields import is_failed_answer, mapping_field, short_text_field, text_field

# `opencode run "some words"` hands the words on in quotation marks of its own.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)


class OpenCode:
    """OpenCode through our own plug-in, which defines the form of the messages."""

    harness = "opencode"
    events: Mapping[Event, tuple[str, ...]] = {
        "session_start": ("session.created",),
        "user_message": ("chat.message",),
        "subagent_spawn": ("session.created",),
        "pre_tool_use": ("tool.execute.before",),
        "post_tool_use": ("tool.execute.after",),
        "subagent_complete": ("session.idle",),
        "context_compact": ("session.compacted",),
        "session_end": ("session.deleted",),
    }
    nearest: Mapping[Event, str] = {
        "session_start": "a session begins with its first message, which carries what is said",
        "subagent_spawn": "a sub-agent begins with its first message, which carries what it should know",
        "subagent_complete": "the answer of the tool task counts as the end, and carries the reminder",
        "context_compact": "the plug-in says the snapshot with every call until the next message",
        "session_end": "sent when a session is deleted and when the program ends",
    }
    delegates: Mapping[str, tuple[str, str]] = {"task": ("subagent_type", "prompt")}
    # The plug-in keeps what it cannot say at once; what ends there, nobody listens to any more.
    _hears = frozenset({"chat.message", "tool.execute.after", "session.created", "session.compacted"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> HarnessEvent:
        """Return the event."""
        name = short_text_field(payload, "event") or next(iter(self.events[event]), event)
        return HarnessEvent(
            harness=self.harness,
            event=event,
            name=name,
            session=short_text_field(payload, "session"),
            cwd=text_field(payload, "cwd"),
            call=short_text_field(payload, "call"),
            agent=short_text_field(payload, "agent"),
            agent_id=short_text_field(payload, "agentId"),
            tool=short_text_field(payload, "tool"),
            given=mapping_field(payload, "args"),
            answer=payload.get("answer"),
            failed=payload.get("failed") is True
            or is_failed_answer(payload.get("answer"))
            or _has_failed_exit(payload.get("answer")),
            text=_unquote_message(text_field(payload, "text"))
            if event == "user_message"
            else text_field(payload, "text"),
            source=short_text_field(payload, "source"),
            hears=name in self._hears,
        )

    def ended(self, told: HarnessEvent) -> str | None:
        """Return the session of the sub-agent: its parent should know of the end now, and the event may be late."""
        metadata = told.answer.get("metadata") if isinstance(told.answer, Mapping) else None
        return short_text_field(metadata, "sessionId") or None if isinstance(metadata, Mapping) else None

    def render_answer(self, happening: HarnessEvent, answer: HookAnswer) -> HookOutput:
        """Return the answer for the plug-in, which throws an error for anything but `allow`."""
        context = answer.context if happening.hears else ""
        said = {"verdict": answer.verdict, "reason": answer.reason, "context": context, "notice": answer.notice}
        return HookOutput(out=json.dumps({key: value for key, value in said.items() if value}).encode())

    def refused(self, event: Event, reason: str) -> HookOutput:
        """Return a denial."""
        return HookOutput(err=reason or "git nexus: not allowed", status=2)


def _unquote_message(words: str) -> str:
    """Return a message as the user typed it."""
    quoted = _QUOTED.fullmatch(words)
    return quoted[1].replace('\\"', '"') if quoted else words


def _has_failed_exit(answer: Any) -> bool:
    """Return True for a command that ended with an error status."""
    metadata = answer.get("metadata") if isinstance(answer, Mapping) else None
    status = metadata.get("exit") if isinstance(metadata, Mapping) else None
    return isinstance(status, int) and status != 0
