"""Find tasks by words: id, title, labels and description, wildcards, without case and accents, the best first."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

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


def found(index: Index, query: str, keep: Callable[[Row], bool], *, anything: bool = False) -> list[tuple[float, Row]]:
    """Return the tasks that hold every word of the query, with how well they fit, the best first.

    `anything` asks for all that `keep` admits, whatever they hold.
    """
    words = [] if anything else patterns(query)
    tests = [_Test(word) for word in words]
    with index.reading():
        rows = [(row, text) for row, text in index.holding([globbed(word) for word in words]) if keep(row)]
    scored = [(_score(text, tests), row) for row, text in rows]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].project, pair[1].number, pair[1].id))


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
        total += _ID if test.part.fullmatch(id_) else 0.0
        for words, weight in ((title, _TITLE), (labels, _LABEL), (description, _TEXT)):
            if test.part.search(words):
                total += weight * (2 if test.whole.search(words) else 1)
    return total


class _Test:
    """A word of a query, as a part of other words and by itself."""

    def __init__(self, word: str) -> None:
        self.part = re.compile(_expression(word))
        self.whole = re.compile(rf"(?<!\w){self.part.pattern}(?!\w)")
