"""The end of a cycle: what is done besides archiving it."""

from typing import Any

from gitnexus.app.notes import notes_of
from gitnexus.base.errors import NexusError
from gitnexus.cycle import Session
from gitnexus.memory.gc import automatic


def after_close(session: Session, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a close with the notes that were forgotten by it, if the project asked for that.

    The cycle is closed whatever comes of it: settings that break a rule are told, not raised.
    """
    if not session.state.exists:
        return answer
    try:
        did = automatic(notes_of(session.state, session), _observes)
    except (NexusError, OSError) as exc:
        return {**answer, "memoryNotice": exc.message if isinstance(exc, NexusError) else str(exc)}
    if did is None or not did.deleted:
        return answer
    return {**answer, "forgotten": {"notes": list(did.deleted), "commit": did.commit}}


def _observes(harness: str) -> bool:
    from gitnexus.catalog.harnesses import HARNESSES

    return harness in HARNESSES and HARNESSES[harness].observes_reads
