"""Formats the hooks of a repository as JSON."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitnexus.git.hookfiles import HookStatus


def hooks_as_json(found: "list[HookStatus]") -> dict[str, object]:
    """Return the state of each hook as JSON."""
    return {
        "hooks": [
            {"event": h.event, "how": h.how, "where": h.where, "manager": h.manager, "advice": h.advice} for h in found
        ]
    }
