"""Deletes expired notes after a cycle is closed, if the project's settings ask for it."""

from typing import Any

from gitnexus.app.notes import open_notes
from gitnexus.base.errors import NexusError
from gitnexus.cycle import Session
from gitnexus.memory.gc import forget_automatically


def forget_notes_after_close(session: Session, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a close, with the notes that were deleted after it.

    The cycle stays closed in any case: invalid settings are reported, not raised.
    """
    if not session.state.exists:
        return answer
    try:
        did = forget_automatically(open_notes(session.state, session), _observes_reads)
    except (NexusError, OSError) as exc:
        return {**answer, "memoryNotice": exc.message if isinstance(exc, NexusError) else str(exc)}
    if did is None or not did.deleted:
        return answer
    return {**answer, "forgotten": {"notes": list(did.deleted), "commit": did.commit}}


def _observes_reads(harness: str) -> bool:
    from gitnexus.catalog.harnesses import HARNESSES

    return harness in HARNESSES and HARNESSES[harness].observes_reads
