"""Find tasks by words: id, title, labels and description, wildcards, without case and accents, the best first."""

import heapq
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gitnexus.backlog.model import number_of
from gitnexus.base.errors import BadUsage
from gitnexus.projects.index import Index, Row

_ID, _TITLE, _LABEL, _TEXT = 8.0, 4.0, 2.0, 1.0


def folded(text: str) -> str:
    """Return `text` without case and accents."""
    low = text.casefold()
    if low.isascii():
        return low
    return "".join(ch for ch in unicodedata.normalize("NFKD", low) if not unicodedata.combining(ch))


def patterns(query: str) -> list[str]:
    """Return the words of a query as patterns: * stands for anything, ? for one character. Raises: BadUsage."""
    words = folded(query).split()
    if not any(re.search(r"[^*?]", word) for word in words):
        raise BadUsage("say what to search for", hint="a word, or part of one with *")
    return words


def globbed(word: str) -> str:
    """Return a word as a GLOB pattern that finds it anywhere; brackets are only brackets."""
    return f"*{word.replace('[', '[[]')}*"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks may be found: those of `projects` (by hash, with their names), and of these what else is said."""

    projects: Mapping[str, str]
    statuses: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    id: str = ""


def found(index: Index, query: str, wanted: Wanted, limit: int) -> tuple[list[tuple[float, Row]], int]:
    """Return the tasks that hold every word of a query and how well they fit, the best first, and how many there are.

    An empty query asks for all that is wanted. Only what is returned is read whole: a word may stand in every task.
    """
    words = patterns(query) if query.strip() else []
    tests = [_Test(word) for word in words]
    with index.reading():
        held = index.holding([globbed(word) for word in words], wanted.statuses)
        scored = [(-_score(text, tests), wanted.projects[project], number_of(id_), id_, n)
                  for n, project, id_, labels, text in held if _admits(wanted, project, id_, labels)]  # fmt: skip
        best = heapq.nsmallest(limit, scored)
        rows = {row.n: row for row in index.tasks(one[-1] for one in best)}
    return [(-one[0], rows[one[-1]]) for one in best], len(scored)


def _admits(wanted: Wanted, project: str, id_: str, labels: str) -> bool:
    return (
        project in wanted.projects
        and (not wanted.labels or wanted.labels <= set(json.loads(labels)))
        and (not wanted.id or fnmatchcase(id_, wanted.id.replace("[", "[[]")))
    )


def result(score: float, row: Row, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one answer."""
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


def _expression(word: str) -> str:
    return "".join(r"\S*" if ch == "*" else r"\S" if ch == "?" else re.escape(ch) for ch in word)


def _score(text: str, tests: list["_Test"]) -> float:
    """A whole word counts double a part of one; the id counts most, then title, labels, description."""
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
    """A word of a query: whether a text holds it, holds it by itself, or is just that."""

    def __init__(self, word: str) -> None:
        part = _expression(word)
        pattern = re.compile(part)
        # The texts that are scored hold every word somewhere; most words are plain, and `in` is ten times as quick.
        self.holds: Callable[[str], Any] = pattern.search if "*" in word or "?" in word else lambda text: word in text
        self.names = pattern.fullmatch
        self.whole = re.compile(rf"(?<!\w){part}(?!\w)").search
