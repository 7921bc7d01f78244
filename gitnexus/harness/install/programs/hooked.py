"""Hooks in the form that Claude Code, Codex and Gemini CLI share: a list of groups for each event of the program's."""

from collections.abc import Callable, Iterator
from typing import Any

from gitnexus.harness.install.kit import Kit
from gitnexus.harness.install.model import Append
from gitnexus.harness.model import EVENTS, Event
from gitnexus.harness.speech.table import speech_of

_MATCHED = ("pre_tool_use", "post_tool_use")


def hooks(kit: Kit, one: Callable[[Event, str], dict[str, Any]]) -> Iterator[Append]:
    """Yield a group for every event that the program has; `one` is the hook itself, from its event and shell line."""
    events = speech_of(kit.harness.id).events
    for event in EVENTS:
        for name in events[event]:
            matcher = {"matcher": "*"} if event in _MATCHED else {}
            yield Append(("hooks", name), {**matcher, "hooks": [one(event, kit.hook(event))]})
