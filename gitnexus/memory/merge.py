"""Merges two notes into one without dropping any text of either."""

from gitnexus.base.errors import BadUsage
from gitnexus.memory.add import with_text_appended
from gitnexus.memory.model import Note
from gitnexus.memory.notes import Notes, note_file_bytes, read_note, with_new_text
from gitnexus.state import Change, Snapshot


def merge_note_into(notes: Notes, into: str, other: str) -> Note:
    """Merge the note `other` into the note `into`, as one commit. Raises: NotFound, BadUsage."""
    notes.latest()
    day = f"{notes.clock():%Y-%m-%d}"

    def decide(snapshot: Snapshot) -> Change[Note]:
        one, two = read_note(snapshot, into), read_note(snapshot, other)
        if one.name == two.name:
            raise BadUsage(f"{one.name} cannot be merged into itself")
        after = with_new_text(one, merged_note_text(one, two, day))
        why = "\n".join(
            [
                f"memory: merge {two.name} into {one.name}",
                "",
                f"- memory/{two.name}.md: merged into {one.name}",
                f"  git nexus memory restore {two.name}",
                "",
            ]
        )
        return Change({one.path: note_file_bytes(after), two.path: None}, why, after)

    return notes.state.transact(decide)


def merged_note_text(into: Note, other: Note, day: str) -> str:
    """Return both texts: the additional text of `other` goes under today's heading, with its origin."""
    title, _, rest = other.text.strip("\n").partition("\n")
    body = rest.strip("\n") if title.startswith("# ") else other.text.strip("\n")
    if not body or body in into.text:
        return into.text
    return with_text_appended(into.text, f"From {other.name}:\n\n{body}", day)
