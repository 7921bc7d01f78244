"""Searches tasks by words in id, title, labels and description, with wildcards, ignoring case and accents."""

import heapq
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gitnexus.backlog.model import number_of_id
from gitnexus.base.errors import BadUsage
from gitnexus.projects.index.model import IndexRow, TaskIndex

_ID, _TITLE, _LABEL, _TEXT = 8.0, 4.0, 2.0, 1.0


def fold_text(text: str) -> str:
    """Return `text` without case and accents."""
    low = text.casefold()
    if low.isascii():
        return low
    return "".join(ch for ch in unicodedata.normalize("NFKD", low) if not unicodedata.combining(ch))


def query_patterns(query: str) -> list[str]:
    """Return the words of a query as patterns: `*` matches any text, `?` one character. Raises: BadUsage."""
    words = fold_text(query).split()
    if not any(re.search(r"[^*?]", word) for word in words):
        raise BadUsage("say what to search for", hint="a word, or part of one with *")
    return words


def glob_anywhere(word: str) -> str:
    """Return a word as a GLOB pattern that matches anywhere in a text; brackets are matched literally."""
    return f"*{word.replace('[', '[[]')}*"


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Restricts the search: `projects` (by hash, with their names) and further fields."""

    projects: Mapping[str, str]
    statuses: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    id: str = ""


def find_tasks(
    index: TaskIndex, query: str, task_filter: TaskFilter, limit: int
) -> tuple[list[tuple[float, IndexRow]], int]:
    """Return the tasks that contain every word of a query with their scores, best first, and the total number.

    An empty query matches all. Only returned tasks are read completely.
    """
    words = query_patterns(query) if query.strip() else []
    tests = [_Test(word) for word in words]
    with index.reading():
        held = index.holding([glob_anywhere(part) for test in tests for part in test.parts], task_filter.statuses)
        scored = [
            (-_score_text(text, tests), task_filter.projects[project], number_of_id(id_), id_, n)
            for n, project, id_, labels, text in held
            if _is_admitted(task_filter, project, id_, labels) and all(test.anywhere(text) for test in tests)
        ]
        best = heapq.nsmallest(limit, scored)
        rows = {row.n: row for row in index.tasks(one[-1] for one in best)}
    return [(-one[0], rows[one[-1]]) for one in best], len(scored)


def _is_admitted(task_filter: TaskFilter, project: str, id_: str, labels: str) -> bool:
    return (
        project in task_filter.projects
        and (not task_filter.labels or task_filter.labels <= set(json.loads(labels)))
        and (not task_filter.id or fnmatchcase(id_, task_filter.id.replace("[", "[[]")))
    )


def search_result(score: float, row: IndexRow, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one result as JSON."""
    return {
        "taskId": row.key,
        "ref": f"{names[row.project]}:{row.id}",
        "project": names[row.project],
        "title": row.title,
        "status": row.status,
        "priority": row.priority,
        "labels": sorted(row.labels),
        "score": round(score, 2),
    }


def _score_text(text: str, tests: list["_Test"]) -> float:
    """Return the score of a task: a whole word counts double; the id counts most, then title, labels, description."""
    id_, title, labels, description = text.split("\n", 3)
    total = 0.0
    for test in tests:
        holds, whole = test.holds, test.whole
        total += _ID if test.names(id_) else 0.0
        if holds(title):
            total += 2 * _TITLE if whole(title) else _TITLE
        if holds(labels):
            total += 2 * _LABEL if whole(labels) else _LABEL
        if holds(description):
            total += 2 * _TEXT if whole(description) else _TEXT
    return total


class _Test:
    """Tests whether a text contains one word of a query, contains it as a whole word, or equals it.

    The pieces between two stars are searched one after the other, each at its first possible position, so no text and
    no number of stars causes backtracking. Within a field, a star does not match a space.
    """

    def __init__(self, word: str) -> None:
        self.parts = [part for part in word.split("*") if part.strip("?")] or [word.replace("*", "")]
        self._pieces = [re.compile(_piece(part), re.DOTALL) for part in word.split("*") if part]
        self._first = not word.startswith("*")
        self._last = not word.endswith("*")
        self._tail = word.rpartition("*")[2]
        plain = "*" not in word and "?" not in word
        # Most words are plain, and `in` is ten times as quick; the texts that are scored hold these somewhere.
        self.anywhere: Callable[[str], bool] = (lambda text: True) if plain else self._in_order
        self.holds: Callable[[str], Any] = (lambda text: word in text) if plain else self._in_a_word
        self.names: Callable[[str], Any] = (lambda text: word == text) if plain else self._is
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search
        self.whole: Callable[[str], Any] = whole if plain else lambda text: any(map(self._is, _words(text)))

    def _in_order(self, text: str) -> bool:
        at = 0
        for piece in self._pieces:
            found = piece.search(text, at)
            if found is None:
                return False
            at = found.end()
        return True

    def _in_a_word(self, text: str) -> bool:
        return any(map(self._in_order, text.split()))

    def _is(self, text: str) -> bool:
        """Return True if the whole text matches the word."""
        pieces, at, end = self._pieces, 0, len(text)
        if self._first and pieces:
            found = pieces[0].match(text)
            if found is None:
                return False
            at, pieces = found.end(), pieces[1:]
            if not pieces:
                return not self._last or at == end
        if self._last and pieces:
            end -= len(self._tail)
            if end < at or pieces[-1].fullmatch(text, end) is None:
                return False
            pieces = pieces[:-1]
        for piece in pieces:
            found = piece.search(text, at, end)
            if found is None:
                return False
            at = found.end()
        return True


def _piece(part: str) -> str:
    return "".join("." if ch == "?" else re.escape(ch) for ch in part)


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text without the punctuation around them, and the parts of compound words."""
    for token in text.split():
        yield token.strip(".,;:!?()[]{}<>'\"`")
        yield from re.findall(r"\w+", token)
