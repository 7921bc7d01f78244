"""What one check of `git nexus doctor` found: its state, a sentence and a hint."""

from dataclasses import dataclass

# How many findings of one kind are listed.
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One check: `ok`, `fixed`, `warning` (works, but look) or `problem`."""

    check: str
    state: str
    words: str
    hint: str | None = None
