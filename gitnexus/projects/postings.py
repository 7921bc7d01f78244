"""Which tasks of a fragment have a word: one packed list for each word, so that a fragment is few rows."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

# A mark is a task's number in the index and how many words of this kind it has.
_SHIFT = 32
_SIZE = (1 << _SHIFT) - 1
BYTES = 8  # of one mark
Key = tuple[int, str]


class Lists:
    """The marks of tasks by kind and word."""

    def __init__(self) -> None:
        self._kinds: defaultdict[int, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))

    def add(self, kind: int, words: Collection[str], task: int) -> None:
        """Note that a task has exactly these words."""
        mark, lists = task << _SHIFT | len(words), self._kinds[kind]
        for word in words:
            lists[word].append(mark)

    def all(self) -> list[Key]:
        """Return every kind and word, in the order in which they are kept."""
        return [(kind, word) for kind in sorted(self._kinds) for word in sorted(self._kinds[kind])]

    def marks(self, key: Key) -> list[int]:
        """Return the marks of a word, none for one that is not there."""
        return self._kinds[key[0]].get(key[1], [])


def packed(marks: Iterable[int]) -> bytes:
    """Return marks as they are kept."""
    return array("Q", marks).tobytes()


def unpacked(raw: bytes) -> "array[int]":
    """Return the marks that were kept."""
    return array("Q", raw)


def without(marks: Iterable[int], tasks: Collection[int]) -> list[int]:
    """Return the marks of all other tasks."""
    return [mark for mark in marks if mark >> _SHIFT not in tasks]


def counted(lists: Iterable[bytes]) -> Mapping[int, int]:
    """Return for each mark in how many of the lists it stands."""
    found: Counter[int] = Counter()
    for raw in lists:
        found.update(unpacked(raw))
    return found


def read(mark: int) -> tuple[int, int]:
    """Return a mark's task, and how many words it has."""
    return mark >> _SHIFT, mark & _SIZE
