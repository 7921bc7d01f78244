"""Translates hook events and answers of Claude Code: https://code.claude.com/docs/en/hooks, tested with 2.1."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Event, HarnessEvent, HookAnswer, HookOutput
from gitnexus.harness.protocols.fields import is_failed_answer, mapping_field, short_text_field, text_field


class ClaudeCode:
    """Claude Code has a field for each kind of answer; newer versions reject fields unknown to an event."""

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
        "context_compact": "PostCompact cannot add text for the model; SessionStart with the source compact can",
        "session_end": "SessionEnd shows nothing; open work is reported once, when the agent stops",
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

    def heard(self, event: Event, payload: Mapping[str, Any]) -> HarnessEvent:
        """Return the event."""
        name = short_text_field(payload, "hook_event_name") or self.events[event][0]
        broke = name == "PostToolUseFailure"
        answer = {"error": payload.get("error")} if broke else payload.get("tool_response")
        return HarnessEvent(
            harness=self.harness,
            event=event,
            name=name,
            session=short_text_field(payload, "session_id"),
            cwd=text_field(payload, "cwd"),
            call=short_text_field(payload, "tool_use_id"),
            agent=short_text_field(payload, "agent_type"),
            agent_id=short_text_field(payload, "agent_id"),
            tool=short_text_field(payload, "tool_name"),
            given=mapping_field(payload, "tool_input"),
            answer=answer,
            failed=broke or is_failed_answer(answer),
            text=text_field(payload, "prompt", "last_assistant_message"),
            source=short_text_field(payload, "source", "trigger", "reason"),
            hears=name in self._hears,
            again=payload.get("stop_hook_active") is True,
        )

    def ended(self, told: HarnessEvent) -> str | None:
        """Return None: SubagentStop reports it, and a call may return while its agent still works."""
        return None

    def render_answer(self, happening: HarnessEvent, answer: HookAnswer) -> HookOutput:
        """Return the answer in the program's form."""
        own: dict[str, str] = {}
        if happening.event == "pre_tool_use" and answer.verdict:
            own = {"permissionDecision": answer.verdict, "permissionDecisionReason": answer.reason}
        if answer.context and happening.hears:
            own["additionalContext"] = answer.context
        said: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": happening.name, **own}} if own else {}
        if answer.notice:
            said["systemMessage"] = answer.notice
        return HookOutput(out=json.dumps(said).encode() if said else b"")

    def refused(self, event: Event, reason: str) -> HookOutput:
        """Return a denial; only exit status 2 blocks."""
        return HookOutput(err=reason, status=2)
