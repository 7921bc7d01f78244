"""OpenCode: it has plug-ins in place of hooks; ours hands each event on in these words, and throws at a no.

What the plug-in sends is text unless said otherwise, and what it leaves out counts as empty: `event` (the name of the
hook or event), `session`, `cwd`, `call`, `tool`, `args` (an object), `answer`, `failed` (true or false), `agent` and
`agentId` (inside a sub-agent: its role, and its own session, while `session` is the one that started it), `text` (the
message, the brief of a sub-agent, its last words), `source`. What it gets: `verdict`, `reason`, `context` (for the
model: added to the message or to the answer of the tool) and `notice` (for the person).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.fields import failed, given, short, text

# `opencode run "some words"` hands the words on in quotation marks of its own.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)


class OpenCode:
    """The plug-in is ours, and so is the form of what it sends."""

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
        "session_end": "told when a session is deleted and when the program ends",
    }
    delegates: Mapping[str, tuple[str, str]] = {"task": ("subagent_type", "prompt")}
    # The plug-in keeps what it cannot say at once; what ends there, nobody listens to any more.
    _hears = frozenset({"chat.message", "tool.execute.after", "session.created", "session.compacted"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told."""
        name = short(payload, "event") or next(iter(self.events[event]), event)
        return Happening(
            harness=self.harness,
            event=event,
            name=name,
            session=short(payload, "session"),
            cwd=text(payload, "cwd"),
            call=short(payload, "call"),
            agent=short(payload, "agent"),
            agent_id=short(payload, "agentId"),
            tool=short(payload, "tool"),
            given=given(payload, "args"),
            answer=payload.get("answer"),
            failed=payload.get("failed") is True or failed(payload.get("answer")) or _exited(payload.get("answer")),
            text=_typed(text(payload, "text")) if event == "user_message" else text(payload, "text"),
            source=short(payload, "source"),
            hears=name in self._hears,
        )

    def ended(self, told: Happening) -> str | None:
        """Return the session of the sub-agent: who started it should hear of its end now, and the event may be late."""
        metadata = told.answer.get("metadata") if isinstance(told.answer, Mapping) else None
        return short(metadata, "sessionId") or None if isinstance(metadata, Mapping) else None

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer for the plug-in: anything but `allow` is thrown."""
        context = answer.context if happening.hears else ""
        said = {"verdict": answer.verdict, "reason": answer.reason, "context": context, "notice": answer.notice}
        return Spoken(out=json.dumps({key: value for key, value in said.items() if value}).encode())

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no."""
        return Spoken(err=reason or "git nexus: not allowed", status=2)


def _typed(words: str) -> str:
    """Return a message as the person gave it."""
    quoted = _QUOTED.fullmatch(words)
    return quoted[1].replace('\\"', '"') if quoted else words


def _exited(answer: Any) -> bool:
    """True for a command that did not end well."""
    metadata = answer.get("metadata") if isinstance(answer, Mapping) else None
    status = metadata.get("exit") if isinstance(metadata, Mapping) else None
    return isinstance(status, int) and status != 0
