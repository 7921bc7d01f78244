"""Stores the word lists of the index, and finds tasks that share words without reading a task.

There is one list per word for all projects. New tasks are stored in a second table, and the number of a deleted task
stays in its lists: numbers are never reused, so it matches nothing. After many additions all lists are rebuilt.
"""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from gitnexus.projects.index.posting_lists import BYTES, FILES, LABELS, WORDS, PostingLists, count_marks, split_mark

# A word of so many tasks tells little, and is looked up only where it must be.
_MANY = 2000
# So many marks are noted beside the lists at most, or so many for each task that there ever was.
_BESIDE, _BESIDE_A_TASK = 50_000, 5


class WordLists:
    """The tasks of each word, in the tables `word` and `fresh`; additions count once they are published."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self.forget()

    def forget(self) -> None:
        """Discard the additions that were not published."""
        self._arriving = PostingLists()
        self.add = self._arriving.add

    def publish(self) -> None:
        """Write the additions: as the lists themselves if there are none yet, else to the second table."""
        arriving = self._arriving
        self.forget()
        if self._db.execute("SELECT 1 FROM word LIMIT 1").fetchone() is None:
            self._write_lists(arriving)
        elif arriving.count + self._count_fresh() > self._most_fresh():
            self._rebuild_lists()
        else:
            self._append_lists(arriving)

    def clear(self) -> None:
        """Delete all lists."""
        self._db.execute("DELETE FROM word")
        self._db.execute("DELETE FROM fresh")

    def sharing(self, kind: int, some: Iterable[str], least: float) -> set[int]:
        """Return the tasks that may share `least` of both their words and these.

        Very frequent words are looked up only if the rare ones do not suffice: two sets that share at least a part t of
        their union share one of any n - ceil(t·n) + 1 words of the first. Words that are not looked up count as shared,
        so no task is missed.
        """
        by_frequency = sorted((self._word_frequency(kind, word), word) for word in some)
        size, part = len(by_frequency), max(least, 1e-9)
        needed = max(size - _round_up(part * size) + 1, 1)
        looked = [word for at, (many, word) in enumerate(by_frequency) if at < needed or many < _MANY]
        rest = size - len(looked)
        found: set[int] = set()
        for mark, shared in count_marks(
            raw for word in looked for (raw,) in self._select_lists("tasks", kind, word)
        ).items():
            task, other = split_mark(mark)
            most = min(shared + rest, size, other)
            if most / (size + other - most) >= part - 1e-9:
                found.add(task)
        return found

    def _word_frequency(self, kind: int, word: str) -> int:
        lengths: list[int] = [length for (length,) in self._select_lists("LENGTH(tasks)", kind, word)]
        return sum(lengths) // BYTES

    def _select_lists(self, what: str, kind: int, word: str) -> list[tuple[Any]]:
        tables = [f"SELECT {what} FROM {table} WHERE kind = ?1 AND word = ?2" for table in ("word", "fresh")]  # noqa: S608
        return self._db.execute(" UNION ALL ".join(tables), (kind, word)).fetchall()

    def _count_fresh(self) -> int:
        found: int = self._db.execute("SELECT COALESCE(SUM(LENGTH(tasks)), 0) FROM fresh").fetchone()[0]
        return found // BYTES

    def _most_fresh(self) -> int:
        ever: int = self._db.execute("SELECT free FROM number").fetchone()[0]
        return max(_BESIDE, _BESIDE_A_TASK * ever)

    def _write_lists(self, lists: PostingLists) -> None:
        self._db.executemany("INSERT INTO word VALUES (?, ?, ?)", lists.rows())

    def _append_lists(self, lists: PostingLists) -> None:
        for kind, word, raw in lists.rows():
            found = self._db.execute("SELECT tasks FROM fresh WHERE kind = ? AND word = ?", (kind, word)).fetchone()
            self._db.execute("INSERT OR REPLACE INTO fresh VALUES (?, ?, ?)", (kind, word, (found or (b"",))[0] + raw))

    def _rebuild_lists(self) -> None:
        lists = PostingLists()
        for n, labels, telling, files in self._db.execute("SELECT n, labels, words, files FROM task"):
            for kind, some in ((LABELS, json.loads(labels)), (WORDS, telling.split()), (FILES, json.loads(files))):
                lists.add(kind, some, n)
        self.clear()
        self._write_lists(lists)


def _round_up(number: float) -> int:
    return -int(-(number - 1e-9) // 1)  # rather one word too many than one too few
