"""Notes as JSON: the one shape that commands and tools answer with."""

from typing import Any

from gitnexus.base.clock import stamp
from gitnexus.memory.gc import Pair
from gitnexus.memory.life import Step
from gitnexus.memory.signals import Standing


def standing_row(row: Standing) -> dict[str, Any]:
    """Return where a note stands."""
    return {
        "name": row.note.name,
        "size": row.note.size,
        "changed": stamp(row.life.changed),
        "accessCount": row.use.count,
        "lastAccess": stamp(row.use.last) if row.use.last else None,
        "lastReader": row.use.reader,
        "daysUnused": row.days,
        "cyclesUnused": row.cycles,
        "candidate": row.is_candidate,
        "signals": dict(row.signals),
    }


def pair_row(pair: Pair) -> dict[str, Any]:
    """Return two notes that are about the same."""
    return {"into": pair.into.name, "from": pair.other.name, "score": round(pair.score, 2)}


def step_row(step: Step) -> dict[str, Any]:
    """Return one step of a note's life."""
    return {"commit": step.commit, "at": stamp(step.at), "author": step.author, "what": step.what, "why": step.why}
