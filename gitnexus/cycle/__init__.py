"""One cycle of work: a plan with issues, the tasks made from it, and the history into which they are closed.

Plan and tasks are files of one worktree's session (`.nexus/state/`); closed cycles are `history.json` on the state ref.
"""

from typing import TYPE_CHECKING, Any

from gitnexus.cycle.session import Session

if TYPE_CHECKING:
    from gitnexus.cycle.table import TOOLS, call, run_tool

__all__ = ["TOOLS", "Session", "call", "run_tool"]


def __getattr__(name: str) -> Any:
    """Import the table of tools on first use: `git nexus status` only reads the session."""
    if name in ("TOOLS", "call", "run_tool"):
        from gitnexus.cycle import table

        return getattr(table, name)
    raise AttributeError(name)
