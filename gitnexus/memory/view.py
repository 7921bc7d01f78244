"""Renders notes as JSON, in the one form that commands and tools return."""

from typing import Any

from gitnexus.base.clock import format_timestamp
from gitnexus.memory.gc import DuplicatePair
from gitnexus.memory.note_history import NoteChange
from gitnexus.memory.signals import NoteAssessment


def assessment_as_json(row: NoteAssessment) -> dict[str, Any]:
    """Return the assessment of a note."""
    return {
        "name": row.note.name,
        "size": row.note.size,
        "changed": format_timestamp(row.life.changed),
        "accessCount": row.use.count,
        "lastAccess": format_timestamp(row.use.last) if row.use.last else None,
        "lastReader": row.use.reader,
        "daysUnused": row.days,
        "cyclesUnused": row.cycles,
        "candidate": row.is_candidate,
        "signals": dict(row.signals),
    }


def pair_as_json(pair: DuplicatePair) -> dict[str, Any]:
    """Return a pair of near-duplicates."""
    return {"into": pair.into.name, "from": pair.other.name, "score": round(pair.score, 2)}


def change_as_json(step: NoteChange) -> dict[str, Any]:
    """Return one change of a note."""
    return {
        "commit": step.commit,
        "at": format_timestamp(step.at),
        "author": step.author,
        "what": step.what,
        "why": step.why,
    }
