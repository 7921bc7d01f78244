"""Claude Code: https://code.claude.com/docs/en/hooks, seen in 2.1."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.fields import given, short, text


class ClaudeCode:
    """A field of its own for each kind of answer; what an event does not know is refused by newer versions."""

    harness = "claude-code"
    events: Mapping[Event, tuple[str, ...]] = {
        "session_start": ("SessionStart",),
        "user_message": ("UserPromptSubmit",),
        "subagent_spawn": ("SubagentStart",),
        "pre_tool_use": ("PreToolUse",),
        "post_tool_use": ("PostToolUse",),
        "subagent_complete": ("SubagentStop",),
        "context_compact": ("PostCompact",),
        "session_end": ("SessionEnd",),
    }
    nearest: Mapping[Event, str] = {}
    # The events whose answer may carry text for the model.
    _hears = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "PostToolUse"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told."""
        name = short(payload, "hook_event_name") or self.events[event][0]
        return Happening(
            harness=self.harness,
            event=event,
            name=name,
            session=short(payload, "session_id"),
            cwd=text(payload, "cwd"),
            call=short(payload, "tool_use_id"),
            agent=short(payload, "agent_type"),
            agent_id=short(payload, "agent_id"),
            tool=short(payload, "tool_name"),
            given=given(payload, "tool_input"),
            answer=payload.get("tool_response"),
            text=text(payload, "prompt", "last_assistant_message"),
            source=short(payload, "source", "trigger", "reason"),
        )

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer in the program's words."""
        own: dict[str, str] = {}
        if happening.event == "pre_tool_use" and answer.verdict:
            own = {"permissionDecision": answer.verdict, "permissionDecisionReason": answer.reason}
        if answer.context and happening.name in self._hears:
            own["additionalContext"] = answer.context
        said: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": happening.name, **own}} if own else {}
        if answer.notice:
            said["systemMessage"] = answer.notice
        return Spoken(out=json.dumps(said).encode() if said else b"")

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no; only status 2 blocks."""
        return Spoken(err=reason, status=2)
