"""Selects the most useful notes within a token budget, for the start of a session."""

import math
import re
from collections.abc import Sequence
from datetime import datetime

from gitnexus.base.errors import BadUsage
from gitnexus.memory.fence import LABEL, fence_note
from gitnexus.memory.gc import assess_all_notes
from gitnexus.memory.notes import Notes
from gitnexus.memory.signals import NoteAssessment

_BUDGET = re.compile(r"(\d{1,9})\s*(k?)", re.IGNORECASE)
# Models count about four letters of English as one token; what is not ASCII costs more.
_LETTERS = 4
_HALF_LIFE = 30.0
_CUT = "\n… (cut here; nx_memory_read shows the whole)"


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens, rather too high than too low."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _LETTERS)


def parse_token_budget(text: str) -> int:
    """Return the number of tokens in `4k` or `4000`. Raises: BadUsage."""
    found = _BUDGET.fullmatch(text.strip())
    if not found or not int(found.group(1)):
        raise BadUsage(f"a budget is a number of tokens such as 4k or 4000, not {text[:40]!r}")
    return int(found.group(1)) * (1000 if found.group(2) else 1)


def note_usefulness(row: NoteAssessment, today: datetime) -> float:
    """Return the usefulness of a note: the number of its reads, halved for every month since the last."""
    touched = max(filter(None, (row.use.last, row.life.changed)))
    age = max(0.0, (today - touched).total_seconds() / 86_400)
    fresh: float = 0.5 ** (age / _HALF_LIFE)
    return (1 + math.log1p(row.use.count)) * fresh


def build_session_brief(notes: Notes, most: int) -> tuple[str, list[str], list[str]]:
    """Return the text for a model, the notes in it, and the notes left out."""
    today = notes.clock()
    rows = sorted(assess_all_notes(notes), key=lambda row: (-note_usefulness(row, today), row.note.name))
    return fill_budget(rows, most)


def fill_budget(rows: Sequence[NoteAssessment], most: int) -> tuple[str, list[str], list[str]]:
    """Return as many whole notes, in order, as fit into the budget; the first note is cut if it does not fit."""
    text = LABEL
    chosen: list[str] = []
    for row in rows:
        block = f"\n\n{fence_note(row.note.name, row.note.text)}"
        if estimate_tokens(text + block) > most and not chosen:
            block = _cut_note(row, most - estimate_tokens(text) - 1)
        if block and estimate_tokens(text + block) <= most:
            text += block
            chosen.append(row.note.name)
    left = [row.note.name for row in rows if row.note.name not in chosen]
    return (text + "\n" if chosen else ""), chosen, left


def _cut_note(row: NoteAssessment, room: int) -> str:
    frame = estimate_tokens(fence_note(row.note.name, _CUT)) + 2
    letters = (room - frame) * _LETTERS
    if letters < 80:
        return ""
    body = row.note.text.encode("utf-8", "replace")[:letters].decode("utf-8", "ignore")
    return f"\n\n{fence_note(row.note.name, body + _CUT)}"
