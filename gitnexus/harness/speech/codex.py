"""Codex: the same words as Claude Code, fewer of them; seen in 0.166."""

import re
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Answer, Event, Happening, Spoken
from gitnexus.harness.speech.claude_code import ClaudeCode

_NAMESPACE = re.compile(r"\Amulti_agent_v\d+_*(?=[a-z])")


class Codex(ClaudeCode):
    """It runs a tool that a hook wants asked about, and skips hooks that nobody trusted without a word."""

    harness = "codex"
    events: Mapping[Event, tuple[str, ...]] = {**ClaudeCode.events, "post_tool_use": ("PostToolUse",)}
    nearest: Mapping[Event, str] = {
        **ClaudeCode.nearest,
        "post_tool_use": "whether a command failed is not told; reads go through commands and are not counted",
    }
    delegates: Mapping[str, tuple[str, str]] = {"spawn_agent": ("agent_type", "message")}
    # A field that an event does not know makes the whole answer void.
    _hears = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> Happening:
        """Return what was told; tools about agents are named with their namespace before them, and nothing between."""
        told = super().heard(event, payload)
        return told._replace(tool=_NAMESPACE.sub("", told.tool))

    def spoken(self, happening: Happening, answer: Answer) -> Spoken:
        """Return the answer; what is not clearly allowed is a no, in the one form that it never passes over."""
        if happening.event == "pre_tool_use" and answer.verdict in ("ask", "deny", "defer"):
            return self.refused(happening.event, answer.reason or "git nexus: not allowed")
        notice = "" if happening.name == "SessionEnd" else answer.notice  # it takes no answer at all
        return super().spoken(happening, Answer(context=answer.context, notice=notice))

    def refused(self, event: Event, reason: str) -> Spoken:
        """Return a no; without a reason on stderr status 2 would not block."""
        return Spoken(err=reason or "git nexus: not allowed", status=2)
