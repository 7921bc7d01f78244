"""Searches notes, rules, context and closed cycles with BM25, without an index.

Only the words of the query are counted, so a thousand notes need no index that could be out of date.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitnexus.memory.words import fold_text, stems_of_query

_K, _B = 1.2, 0.75
# A word in the name or the title says more about a text than one inside it.
_TITLE = 4.0
_WHOLE = 3


@dataclass(frozen=True, slots=True)
class SearchableText:
    """A text that a search can find."""

    kind: str
    name: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A text that matches, its score, and a matching line."""

    text: SearchableText
    score: float
    excerpt: str


def search_texts(query: str, texts: Iterable[SearchableText], limit: int = 10) -> list[SearchHit]:
    """Return the best matches of the query; every text that contains one of its words is considered."""
    terms = stems_of_query(query)
    pool = [(text, fold_text(f"{text.name}\n{text.title}"), fold_text(text.body)) for text in texts]
    if not terms or not pool:
        return []
    average = sum(len(body) for _, _, body in pool) / len(pool) or 1.0
    scores = [0.0] * len(pool)
    for term in terms:
        counts = [_TITLE * count_term(term, title) + count_term(term, body) for _, title, body in pool]
        holding = sum(found > 0 for found in counts)
        weight = math.log(1 + (len(pool) - holding + 0.5) / (holding + 0.5))
        for at, found in enumerate(counts):
            if found:
                length = 1 - _B + _B * len(pool[at][2]) / average
                scores[at] += weight * found * (_K + 1) / (found + _K * length)
    best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: (-scores[at], pool[at][0].name))
    return [SearchHit(pool[at][0], round(scores[at], 3), _best_line(pool[at][0].body, terms)) for at in best[:limit]]


def count_term(term: str, text: str) -> int:
    """Return how many words begin with a stem; a word too short to be a stem must match completely.

    It searches for the letters first: a regular expression with lookbehind takes ten times as long.
    """
    size, found = len(term), 0
    at = text.find(term)
    while at >= 0:
        begins = at == 0 or not _is_word_character(text[at - 1])
        if begins and (size >= _WHOLE or at + size == len(text) or not _is_word_character(text[at + size])):
            found += 1
        at = text.find(term, at + size)
    return found


def _is_word_character(ch: str) -> bool:
    return ch.isalnum() or ch == "_"


def _best_line(body: str, terms: Sequence[str]) -> str:
    lines = [line.strip() for line in body.split("\n") if line.strip() and not line.startswith("#")]
    lines = [line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for line in lines]
    found = max(lines, key=lambda line: sum(count_term(term, fold_text(line)) > 0 for term in terms), default="")
    return found if len(found) <= 200 else found[:199] + "…"
