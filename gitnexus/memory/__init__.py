"""What a project has learned: notes written by agents (`memory/`), rules set by its people, and explanatory context.

Owns `memory/`, `rules/` and `context/` on the state ref, and `<harness>/memory-access.jsonl` in each worktree.
Notes can be deleted, always by a commit that says how to restore them; rules and context never are.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.memory.notes import Notes

__all__ = ["Notes"]


def __getattr__(name: str) -> Any:
    """Import the notes on first use: a hook after every tool call only counts a read."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gitnexus.memory.notes import Notes

    return Notes
