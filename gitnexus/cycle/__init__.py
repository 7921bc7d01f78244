"""One cycle of work: a plan with its issues, the tasks that come of it, and the history they are closed into.

Plan and tasks are files of one worktree's session (`.nexus/state/`); closed cycles are `history.json` on the state ref.
"""

from gitnexus.cycle.session import Session
from gitnexus.cycle.table import TOOLS, call

__all__ = ["TOOLS", "Session", "call"]
