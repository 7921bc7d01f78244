"""Claude Code: https://code.claude.com/docs/en/hooks, seen in 2.1."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.fields import failed, given, short, text


class ClaudeCode:
    """A field of its own for each kind of answer; what an event does not know is refused by newer versions."""

    harness = "claude-code"
    events: Mapping[Event, tuple[str, ...]] = {
        "session_start": ("SessionStart",),
        "user_message": ("UserPromptSubmit",),
        "subagent_spawn": ("SubagentStart",),
        "pre_tool_use": ("PreToolUse",),
        "post_tool_use": ("PostToolUse", "PostToolUseFailure"),
        "subagent_complete": ("SubagentStop",),
        "context_compact": ("PostCompact",),
        "session_end": ("SessionEnd", "Stop"),
    }
    nearest: Mapping[Event, str] = {
        "context_compact": "PostCompact cannot speak to the model; SessionStart with the source compact does",
        "session_end": "SessionEnd shows nothing; what is open is told once when the agent stops",
        "subagent_complete": "SubagentStop speaks to the sub-agent; the reminder comes with the next answer of a tool",
    }
    delegates: Mapping[str, tuple[str, str]] = {
        "Agent": ("subagent_type", "prompt"),
        "Task": ("subagent_type", "prompt"),
    }
    # The events whose answer may carry text for the model. Stop and SubagentStop may too, and would make it go on.
    _hears = frozenset(
        {"SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "PostToolUse", "PostToolUseFailure"}
    )

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told."""
        name = short(payload, "hook_event_name") or self.events[event][0]
        broke = name == "PostToolUseFailure"
        answer = {"error": payload.get("error")} if broke else payload.get("tool_response")
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
            answer=answer,
            failed=broke or failed(answer),
            text=text(payload, "prompt", "last_assistant_message"),
            source=short(payload, "source", "trigger", "reason"),
            hears=name in self._hears,
            again=payload.get("stop_hook_active") is True,
        )

    def ended(self, told: Happening) -> str | None:
        """Return None: SubagentStop tells it, and a call may return while its agent still works."""
        return None

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer in the program's words."""
        own: dict[str, str] = {}
        if happening.event == "pre_tool_use" and answer.verdict:
            own = {"permissionDecision": answer.verdict, "permissionDecisionReason": answer.reason}
        if answer.context and happening.hears:
            own["additionalContext"] = answer.context
        said: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": happening.name, **own}} if own else {}
        if answer.notice:
            said["systemMessage"] = answer.notice
        return Spoken(out=json.dumps(said).encode() if said else b"")

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no; only status 2 blocks."""
        return Spoken(err=reason, status=2)
