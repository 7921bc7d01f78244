"""OpenCode: it has plug-ins in place of hooks; ours hands each event on in these words, and throws at a no."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.fields import given, short, text


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
    nearest: Mapping[Event, str] = {}

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told."""
        return Happening(
            harness=self.harness,
            event=event,
            name=short(payload, "event") or next(iter(self.events[event]), event),
            session=short(payload, "session"),
            cwd=text(payload, "cwd"),
            call=short(payload, "call"),
            agent=short(payload, "agent"),
            agent_id=short(payload, "agentId"),
            tool=short(payload, "tool"),
            given=given(payload, "args"),
            answer=payload.get("answer"),
            text=text(payload, "text"),
            source=short(payload, "source"),
        )

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer for the plug-in: anything but `allow` is thrown."""
        said = {"verdict": answer.verdict, "reason": answer.reason, "context": answer.context, "notice": answer.notice}
        return Spoken(out=json.dumps({key: value for key, value in said.items() if value}).encode())

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no."""
        return Spoken(err=reason or "git nexus: not allowed", status=2)
