"""Computes the reasons for deleting a note from its use, age, size and the thresholds. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gitnexus.memory.model import GcThresholds, Note, NoteTimes, NoteUse

# Two signals show a note to a person; forgetting without one needs all that are set, and three at the least.
ENOUGH_TO_SHOW = 2
ENOUGH_TO_FORGET = 3
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NoteAssessment:
    """A note with everything that gc considers."""

    note: Note
    use: NoteUse
    life: NoteTimes
    days: int
    cycles: int
    signals: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_candidate(self) -> bool:
        """Return True if gc should propose to delete it."""
        return len(self.signals) >= ENOUGH_TO_SHOW

    @property
    def why(self) -> str:
        """The reasons as text."""
        return ", ".join(self.signals.values())


def assess_note(
    note: Note,
    use: NoteUse,
    life: NoteTimes,
    closed: Sequence[datetime],
    limits: GcThresholds,
    today: datetime,
    since: datetime = _NEVER,
) -> NoteAssessment:
    """Return the assessment of a note. A note that changed after its last read counts as used at the change."""
    touched = max(use.last or _NEVER, life.changed, since)
    days = max(0, (today - touched).days)
    cycles = sum(moment > touched for moment in closed)
    signals = {}
    if limits.days_since_access is not None and days >= limits.days_since_access:
        read = "not read" if use.last else "never read"
        signals["daysSinceAccess"] = f"{read} for {days} days"
    if limits.cycles_since_access is not None and cycles >= limits.cycles_since_access:
        signals["cyclesSinceAccess"] = f"{cycles} {'cycle' if cycles == 1 else 'cycles'} closed since"
    if limits.accesses_at_most is not None and use.count <= limits.accesses_at_most:
        signals["accessesAtMost"] = f"read {use.count} {'time' if use.count == 1 else 'times'} in all"
    if limits.bytes_at_least is not None and note.size >= limits.bytes_at_least:
        signals["bytesAtLeast"] = f"{note.size} bytes large"
    return NoteAssessment(note, use, life, days, cycles, signals)


def notes_to_forget(rows: Sequence[NoteAssessment], limits: GcThresholds) -> list[NoteAssessment]:
    """Return the notes for which every configured signal holds, if at least three are configured."""
    needed = sum(value is not None for value in vars(limits).values())
    return [row for row in rows if needed >= ENOUGH_TO_FORGET and len(row.signals) == needed]
