"""Steps from one major format to the next, each a pure function from a snapshot to changes.

A step runs inside the transaction that needs it, as its own commit, so the state before is one commit back.
"""

from collections.abc import Callable
from datetime import datetime

from gitnexus.state.format import MAJOR, major_of
from gitnexus.state.migrations.adopt import from_foreign
from gitnexus.state.snapshot import Snapshot

Step = Callable[[Snapshot, datetime], dict[str, bytes | None]]

STEPS: dict[int, Step] = {0: from_foreign}


def pending(snapshot: Snapshot) -> tuple[int, Step] | None:
    """Return the next step that a snapshot needs, or None if it is current."""
    major = major_of(snapshot)
    return (major, STEPS[major]) if major < MAJOR else None
