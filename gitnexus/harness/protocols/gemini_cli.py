"""Translates hook events and answers of Gemini CLI, which ignores the form of Claude Code. Tested with 0.61."""

import json
import re
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Event, HarnessEvent, HookAnswer, HookOutput
from gitnexus.harness.protocols.fields import is_failed_answer, mapping_field, short_text_field, text_field

# The text of hooks at the start precedes the first message of a person: it is not part of the message.
_SAID_BEFORE = re.compile(r"\A(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
_CLOSING = re.compile(r"</(?=\s*hook_context)", re.IGNORECASE)
_EXITED = "Command exited with code: "


class GeminiCli:
    """Gemini CLI has no sub-agent events: sub-agents are a tool, and their tool calls look like the session's."""

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
        "subagent_spawn": "a call of invoke_agent counts as the start; what the agent should know joins its prompt",
        "subagent_complete": "the answer of that call counts as the end",
        "context_compact": "PreCompress comes before every turn; after /compress the snapshot joins the next message",
    }
    delegates: Mapping[str, tuple[str, str]] = {"invoke_agent": ("agent_name", "prompt")}
    _hears = frozenset({"SessionStart", "BeforeAgent", "AfterTool"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> HarnessEvent:
        """Return the event."""
        name = short_text_field(payload, "hook_event_name") or next(iter(self.events[event]), event)
        answer = payload.get("tool_response")
        return HarnessEvent(
            harness=self.harness,
            event=event,
            name=name,
            session=short_text_field(payload, "session_id"),
            cwd=text_field(payload, "cwd"),
            tool=short_text_field(payload, "tool_name"),
            given=mapping_field(payload, "tool_input"),
            answer=answer,
            failed=is_failed_answer(answer) or _has_failed_exit(answer),
            text=_SAID_BEFORE.sub("", text_field(payload, "prompt")),
            source=short_text_field(payload, "source", "trigger", "reason"),
            hears=name in self._hears
            or (event == "pre_tool_use" and short_text_field(payload, "tool_name") in self.delegates),
        )

    def ended(self, told: HarnessEvent) -> str | None:
        """Return an empty id: the sub-agent has ended and has no id."""
        return ""

    def render_answer(self, happening: HarnessEvent, answer: HookAnswer) -> HookOutput:
        """Return the answer; `ask` would hang without a user, so it is a denial as well."""
        said: dict[str, Any] = {}
        if happening.event == "pre_tool_use" and answer.verdict in ("ask", "deny", "defer"):
            said = {"decision": "deny", "reason": answer.reason or "git nexus: not allowed"}
        elif answer.context and happening.hears:
            said["hookSpecificOutput"] = {
                "hookEventName": happening.name,
                **self._context_fields(happening, answer.context),
            }
        if answer.notice:
            said["systemMessage"] = answer.notice
        return HookOutput(out=json.dumps(said).encode() if said else b"")

    def refused(self, event: Event, reason: str) -> HookOutput:
        """Return a denial."""
        return HookOutput(err=reason or "git nexus: not allowed", status=2)

    def _context_fields(self, happening: HarnessEvent, context: str) -> dict[str, Any]:
        if happening.event == "pre_tool_use":
            field = self.delegates[happening.tool][1]
            # All of it: what is left out is not kept, whatever the manual says.
            return {"tool_input": {**happening.given, field: f"{text_field(happening.given, field)}\n\n{context}"}}
        # No text that we pass on may close the frame around it.
        return {"additionalContext": _CLOSING.sub("<\\\\/", context)}


def _has_failed_exit(answer: Any) -> bool:
    shown = answer.get("returnDisplay") if isinstance(answer, Mapping) else None
    return isinstance(shown, str) and shown.startswith(_EXITED) and shown != f"{_EXITED}0"
