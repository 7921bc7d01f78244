"""Gemini CLI: its own events and words; Claude's are ignored, and the tool runs. Seen in 0.61."""

import json
import re
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.fields import failed, given, short, text

# What hooks said at the start stands before the first message of a person: it is not theirs.
_SAID_BEFORE = re.compile(r"\A(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
_CLOSING = re.compile(r"</(?=\s*hook_context)", re.IGNORECASE)
_EXITED = "Command exited with code: "


class GeminiCli:
    """It has no sub-agent events: its sub-agents are a tool, and what they use is seen as if the session did."""

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

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told."""
        name = short(payload, "hook_event_name") or next(iter(self.events[event]), event)
        answer = payload.get("tool_response")
        return Happening(
            harness=self.harness,
            event=event,
            name=name,
            session=short(payload, "session_id"),
            cwd=text(payload, "cwd"),
            tool=short(payload, "tool_name"),
            given=given(payload, "tool_input"),
            answer=answer,
            failed=failed(answer) or _exited(answer),
            text=_SAID_BEFORE.sub("", text(payload, "prompt")),
            source=short(payload, "source", "trigger", "reason"),
            hears=name in self._hears or (event == "pre_tool_use" and short(payload, "tool_name") in self.delegates),
        )

    def ended(self, told: Happening) -> str | None:
        """Return that it has ended; it has no id."""
        return ""

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer; `ask` would hang where nobody sits, so it is a no as well."""
        said: dict[str, Any] = {}
        if happening.event == "pre_tool_use" and answer.verdict in ("ask", "deny", "defer"):
            said = {"decision": "deny", "reason": answer.reason or "git nexus: not allowed"}
        elif answer.context and happening.hears:
            said["hookSpecificOutput"] = {"hookEventName": happening.name, **self._told(happening, answer.context)}
        if answer.notice:
            said["systemMessage"] = answer.notice
        return Spoken(out=json.dumps(said).encode() if said else b"")

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no."""
        return Spoken(err=reason or "git nexus: not allowed", status=2)

    def _told(self, happening: Happening, context: str) -> dict[str, Any]:
        if happening.event == "pre_tool_use":
            field = self.delegates[happening.tool][1]
            # All of it: what is left out is not kept, whatever the manual says.
            return {"tool_input": {**happening.given, field: f"{text(happening.given, field)}\n\n{context}"}}
        # Nothing that we hand on may end the frame that it stands in.
        return {"additionalContext": _CLOSING.sub("<\\\\/", context)}


def _exited(answer: Any) -> bool:
    shown = answer.get("returnDisplay") if isinstance(answer, Mapping) else None
    return isinstance(shown, str) and shown.startswith(_EXITED) and shown != f"{_EXITED}0"
