"""Packs and unpacks the list of tasks for each word of the index."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

LABELS, WORDS, FILES = 0, 1, 2
# A mark is a task's number in the index and how many words of this kind it has.
_SHIFT = 32
_SIZE = (1 << _SHIFT) - 1
BYTES = 8  # of one mark


class PostingLists:
    """The row numbers of tasks (marks) by kind and word."""

    def __init__(self) -> None:
        self._kinds: dict[int, defaultdict[str, list[int]]] = {
            kind: defaultdict(list) for kind in (LABELS, WORDS, FILES)
        }
        self.count = 0

    def add(self, kind: int, words: Collection[str], task: int) -> None:
        """Record the exact set of words of a task."""
        mark, lists = task << _SHIFT | len(words), self._kinds[kind]
        self.count += len(words)
        for word in words:
            lists[word].append(mark)

    def rows(self) -> Iterator[tuple[int, str, bytes]]:
        """Yield every kind and word with its packed marks, in storage order."""
        for kind, lists in self._kinds.items():
            for word in sorted(lists):
                yield kind, word, pack_marks(lists[word])


def pack_marks(marks: Iterable[int]) -> bytes:
    """Return marks in their packed form."""
    return array("Q", marks).tobytes()


def unpack_marks(raw: bytes) -> "array[int]":
    """Return the marks in a packed list."""
    return array("Q", raw)


def count_marks(lists: Iterable[bytes]) -> Mapping[int, int]:
    """Return for each mark the number of lists that contain it."""
    found: Counter[int] = Counter()
    for raw in lists:
        found.update(unpack_marks(raw))
    return found


def split_mark(mark: int) -> tuple[int, int]:
    """Return a mark's task and its number of words."""
    return mark >> _SHIFT, mark & _SIZE
