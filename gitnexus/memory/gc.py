"""Selects notes to delete, and deletes them in one commit that says what was deleted, why, and how to restore it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.memory.access import read_note_uses, reads_observed_since
from gitnexus.memory.merge import merged_note_text
from gitnexus.memory.model import GcThresholds, Note, NoteTimes, NoteUse
from gitnexus.memory.note_history import read_note_times
from gitnexus.memory.notes import Notes, note_file_bytes, read_all_notes, with_new_text
from gitnexus.memory.overlap import find_similar_pairs
from gitnexus.memory.signals import NoteAssessment, assess_note, notes_to_forget
from gitnexus.state import Change, Snapshot

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DuplicatePair:
    """Two notes on the same topic: `other` would be merged into `into`."""

    into: Note
    other: Note
    score: float


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """The deleted and merged notes, and the commit."""

    commit: str | None
    deleted: tuple[str, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()


def assess_all_notes(
    notes: Notes, limits: GcThresholds | None = None, since: datetime = _EPOCH
) -> list[NoteAssessment]:
    """Return the assessment of every note, by name; before `since` no reads were observed, so that counts as use."""
    snapshot = notes.latest()
    limits = limits or notes.settings.looked_at  # invalid settings are reported, whether or not there are notes
    closed, today = [cycle.at for cycle in notes.closed()], notes.clock()
    known, used, born = read_note_times(notes.state, snapshot), read_note_uses(notes), NoteTimes(_EPOCH, _EPOCH)
    return [
        assess_note(note, used.get(note.name, NoteUse()), known.get(note.name, born), closed, limits, today, since)
        for note in read_all_notes(snapshot)
    ]


def find_duplicates(notes: Notes, but: Sequence[str] = ()) -> list[DuplicatePair]:
    """Return near-duplicates that could be merged; the note that is read more stays, or else the older name."""
    settings = notes.settings
    kept = [note for note in read_all_notes(notes.latest()) if note.name not in but]
    used = read_note_uses(notes)
    found = []
    for one, other, score in find_similar_pairs(kept, settings.prefixes, settings.overlap):
        first = sorted((one, other), key=lambda note: (-used.get(note.name, NoteUse()).count, note.name))
        found.append(DuplicatePair(first[0], first[1], score))
    return found


def still_candidates(notes: Notes, rows: Sequence[NoteAssessment]) -> list[NoteAssessment]:
    """Return those of the candidates that are still candidates: the user may have taken an hour to answer."""
    now = {row.note: row for row in assess_all_notes(notes) if row.is_candidate}
    return [now[row.note] for row in rows if row.note in now]


def forget_notes(notes: Notes, delete: Sequence[tuple[str, str]], merge: Sequence[DuplicatePair] = ()) -> ForgetResult:
    """Delete notes, each with its reason, and merge pairs, all in one commit.

    Raises: NotFound, Invalid if a note of a pair changed meanwhile.
    """
    notes.latest()
    day = f"{notes.clock():%Y-%m-%d}"

    def decide(snapshot: Snapshot) -> Change[ForgetResult]:
        there = {note.name: note for note in read_all_notes(snapshot)}
        for name in [*(name for name, _ in delete), *(note.name for pair in merge for note in (pair.into, pair.other))]:
            if name not in there:
                raise NotFound(f"there is no note {name[:80]!r} any more", hint="run the command again")
        files: dict[str, bytes | None] = {there[name].path: None for name, _ in delete}
        for pair in merge:
            if there[pair.into.name] != pair.into or there[pair.other.name] != pair.other:
                raise Invalid(f"{pair.into.name} or {pair.other.name} changed meanwhile", hint="run the command again")
            files[pair.into.path] = note_file_bytes(
                with_new_text(pair.into, merged_note_text(pair.into, pair.other, day))
            )
            files[pair.other.path] = None
        did = ForgetResult(
            None,
            tuple(name for name, _ in delete),
            tuple((pair.into.name, pair.other.name) for pair in merge),
        )
        return Change(files, format_forget_message(delete, merge, snapshot.commit or ""), did)

    did = notes.state.transact(decide)
    return ForgetResult(notes.state.snapshot.commit, did.deleted, did.merged)


def format_forget_message(delete: Sequence[tuple[str, str]], merge: Sequence[DuplicatePair], before: str) -> str:
    """Return the commit message: every file, the reason, and the command that restores it."""
    rows = [(name, why or "asked for") for name, why in delete]
    rows += [(pair.other.name, f"merged into {pair.into.name}") for pair in merge]
    what = f"memory: forget {rows[0][0]}" if len(rows) == 1 else f"memory: forget {len(rows)} notes"
    lines = [what, ""]
    for name, why in rows:
        lines += [f"- memory/{name}.md: {why}", f"  git nexus memory restore {name}"]
    lines += ["", "With plain git, for example:", f"  git show {before}:memory/{rows[0][0]}.md", ""]
    return "\n".join(lines)


def forget_automatically(notes: Notes, can_observe: Callable[[str], bool]) -> ForgetResult | None:
    """Delete the notes for which every configured signal holds, if the project's settings ask for it; else return None.

    A harness that cannot report reads, or never did here, never deletes. One that began to report them yesterday does
    not know which notes were unused for a year.
    """
    settings, since = notes.settings, reads_observed_since(notes)
    if not settings.gc.automatic or notes.local is None or since is None or not can_observe(notes.local.harness):
        return None
    limits = GcThresholds(**{name: value for name, value in vars(settings.gc).items() if name != "automatic"})
    going = notes_to_forget(assess_all_notes(notes, limits, since), limits)
    if not going:
        return ForgetResult(None)
    return forget_notes(notes, [(row.note.name, row.why) for row in going])
