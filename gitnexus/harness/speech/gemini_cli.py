"""Gemini CLI: its own events and words; Claude's are ignored, and the tool runs. Seen in 0.61."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.fields import given, short, text


class GeminiCli:
    """It has no sub-agent events: what its sub-agents do is seen as the tools they use."""

    harness = "gemini-cli"
    events: Mapping[Event, tuple[str, ...]] = {
        "session_start": ("SessionStart",),
        "user_message": ("BeforeAgent",),
        "subagent_spawn": (),
        "pre_tool_use": ("BeforeTool",),
        "post_tool_use": ("AfterTool",),
        "subagent_complete": (),
        "context_compact": ("PreCompress",),
        "session_end": ("SessionEnd",),
    }
    nearest: Mapping[Event, str] = {
        "subagent_spawn": "a call of a tool that is one of our roles counts as its start",
        "subagent_complete": "the answer of such a call counts as its end",
        "context_compact": "it tells before it compacts; the snapshot is given with the next message",
    }
    _hears = frozenset({"SessionStart", "BeforeAgent", "AfterTool"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told."""
        return Happening(
            harness=self.harness,
            event=event,
            name=short(payload, "hook_event_name") or next(iter(self.events[event]), event),
            session=short(payload, "session_id"),
            cwd=text(payload, "cwd"),
            tool=short(payload, "tool_name"),
            given=given(payload, "tool_input"),
            answer=payload.get("tool_response"),
            text=text(payload, "prompt"),
            source=short(payload, "source", "trigger", "reason"),
        )

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer; `ask` would hang where nobody sits, so it is a no as well."""
        said: dict[str, Any] = {}
        if happening.event == "pre_tool_use" and answer.verdict in ("ask", "deny", "defer"):
            said = {"decision": "deny", "reason": answer.reason or "git nexus: not allowed"}
        if answer.context and happening.name in self._hears:
            said["hookSpecificOutput"] = {"hookEventName": happening.name, "additionalContext": answer.context}
        if answer.notice:
            said["systemMessage"] = answer.notice
        return Spoken(out=json.dumps(said).encode() if said else b"")

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no."""
        return Spoken(err=reason or "git nexus: not allowed", status=2)
