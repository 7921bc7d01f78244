"""Migrations from one major state format to the next, each a pure function from a snapshot to changes.

A migration runs inside the transaction that needs it, as its own commit, so the state before it is one commit back.
"""

from collections.abc import Callable
from datetime import datetime

from gitnexus.state.format import MAJOR, format_major_of
from gitnexus.state.migrations.adopt import missing_project_files
from gitnexus.state.snapshot import Snapshot

Step = Callable[[Snapshot, datetime], dict[str, bytes | None]]

STEPS: dict[int, Step] = {0: missing_project_files}


def pending_step(snapshot: Snapshot) -> tuple[int, Step] | None:
    """Return the next migration that a snapshot needs, or None if it is current."""
    major = format_major_of(snapshot)
    return (major, STEPS[major]) if major < MAJOR else None
