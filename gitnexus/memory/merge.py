"""Two notes made one; nothing that either said is dropped."""

from gitnexus.base.errors import BadUsage
from gitnexus.memory.add import extended
from gitnexus.memory.model import Note
from gitnexus.memory.notes import Notes, note_in, over, stored
from gitnexus.state import Change, Snapshot


def merge(notes: Notes, into: str, other: str) -> Note:
    """Put the note `other` into the note `into`, as one commit. Raises: NotFound, BadUsage."""
    notes.latest()
    day = f"{notes.clock():%Y-%m-%d}"

    def decide(snapshot: Snapshot) -> Change[Note]:
        one, two = note_in(snapshot, into), note_in(snapshot, other)
        if one.name == two.name:
            raise BadUsage(f"{one.name} cannot be merged into itself")
        after = over(one, together(one, two, day))
        why = "\n".join([
            f"memory: merge {two.name} into {one.name}", "",
            f"- memory/{two.name}.md: merged into {one.name}", f"  git nexus memory restore {two.name}", "",
        ])  # fmt: skip
        return Change({one.path: stored(after), two.path: None}, why, after)

    return notes.state.transact(decide)


def together(into: Note, other: Note, day: str) -> str:
    """Return the text of both: what `other` says more, under the heading of the day, with where it is from."""
    title, _, rest = other.text.strip("\n").partition("\n")
    body = rest.strip("\n") if title.startswith("# ") else other.text.strip("\n")
    if not body or body in into.text:
        return into.text
    return extended(into.text, f"From {other.name}:\n\n{body}", day)
