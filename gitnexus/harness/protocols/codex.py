"""Translates hook events and answers of Codex: a subset of Claude Code's form; tested with 0.166."""

import re
from collections.abc import Mapping
from typing import Any

from gitnexus.harness.model import Event, HarnessEvent, HookAnswer, HookOutput
from gitnexus.harness.protocols.claude_code import ClaudeCode

_NAMESPACE = re.compile(r"\Amulti_agent_v\d+_*(?=[a-z])")


class Codex(ClaudeCode):
    """Codex runs a tool for which a hook answers `ask`, and silently skips hooks that the user did not trust."""

    harness = "codex"
    events: Mapping[Event, tuple[str, ...]] = {**ClaudeCode.events, "post_tool_use": ("PostToolUse",)}
    nearest: Mapping[Event, str] = {
        **ClaudeCode.nearest,
        "post_tool_use": "it does not report whether a command failed; reads go through commands and are not counted",
    }
    delegates: Mapping[str, tuple[str, str]] = {"spawn_agent": ("agent_type", "message")}
    # A field that an event does not know makes the whole answer void.
    _hears = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse"})

    def heard(self, event: Event, payload: Mapping[str, Any]) -> HarnessEvent:
        """Return the event; Codex prefixes the names of agent tools with their namespace, without a separator."""
        told = super().heard(event, payload)
        return told._replace(tool=_NAMESPACE.sub("", told.tool))

    def render_answer(self, happening: HarnessEvent, answer: HookAnswer) -> HookOutput:
        """Return the answer; anything but a clear allow is a denial, in the one form that Codex never ignores."""
        if happening.event == "pre_tool_use" and answer.verdict in ("ask", "deny", "defer"):
            return self.refused(happening.event, answer.reason or "git nexus: not allowed")
        notice = "" if happening.name == "SessionEnd" else answer.notice  # it takes no answer at all
        return super().render_answer(happening, HookAnswer(context=answer.context, notice=notice))

    def refused(self, event: Event, reason: str) -> HookOutput:
        """Return a denial; exit status 2 would not block without a reason on stderr."""
        return HookOutput(err=reason or "git nexus: not allowed", status=2)
