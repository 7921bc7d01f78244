"""All that can be searched: notes, rules, context and closed cycles."""

from collections.abc import Iterable, Iterator

from gitnexus.memory.model import ClosedCycle
from gitnexus.memory.notes import SHELVES, notes_in, shelf_in
from gitnexus.memory.search import Text
from gitnexus.state import Snapshot


def texts(snapshot: Snapshot, closed: Iterable[ClosedCycle]) -> Iterator[Text]:
    """Yield everything that is known."""
    for note in notes_in(snapshot):
        yield Text("memory", note.name, _title(note.text), note.text)
    for shelf in SHELVES:
        for name, text in shelf_in(snapshot, shelf).items():
            yield Text(shelf, name, _title(text), text)
    for cycle in closed:
        yield Text("cycle", cycle.name, cycle.title, cycle.text)


def _title(text: str) -> str:
    first = text.lstrip().split("\n", 1)[0]
    return first.lstrip("# ") if first.startswith("#") else ""
