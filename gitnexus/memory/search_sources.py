"""Collects the searchable texts: notes, rules, context and closed cycles."""

from collections.abc import Iterable, Iterator

from gitnexus.memory.model import ClosedCycle
from gitnexus.memory.notes import FOLDERS, read_all_notes, read_text_folder
from gitnexus.memory.search import SearchableText
from gitnexus.state import Snapshot


def searchable_texts(snapshot: Snapshot, closed: Iterable[ClosedCycle]) -> Iterator[SearchableText]:
    """Yield every searchable text."""
    for note in read_all_notes(snapshot):
        yield SearchableText("memory", note.name, _heading_of_text(note.text), note.text)
    for folder in FOLDERS:
        for name, text in read_text_folder(snapshot, folder).items():
            yield SearchableText(folder, name, _heading_of_text(text), text)
    for cycle in closed:
        yield SearchableText("cycle", cycle.name, cycle.title, cycle.text)


def _heading_of_text(text: str) -> str:
    first = text.lstrip().split("\n", 1)[0]
    return first.lstrip("# ") if first.startswith("#") else ""
