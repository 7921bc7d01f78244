"""Builds hook entries in the form that Claude Code, Codex and Gemini CLI share: a list of groups for each event."""

from collections.abc import Callable, Iterator
from typing import Any

from gitnexus.harness.install.context import InstallContext
from gitnexus.harness.install.model import Append
from gitnexus.harness.model import EVENTS, Event
from gitnexus.harness.protocols.table import load_harness_protocol

_MATCHED = ("pre_tool_use", "post_tool_use")


def hook_groups(kit: InstallContext, one: Callable[[Event, str], dict[str, Any]]) -> Iterator[Append]:
    """Yield a group for every event of the program; `one` builds the hook from its event and shell line."""
    events = load_harness_protocol(kit.harness.id).events
    for event in EVENTS:
        for name in events[event]:
            matcher = {"matcher": "*"} if event in _MATCHED else {}
            yield Append(("hooks", name), {**matcher, "hooks": [one(event, kit.hook(event))]})
