"""Find what is known: BM25 over notes, rules, context and closed cycles, with nothing indexed beforehand.

Only the words that were asked for are counted, so a thousand notes need no index that could be out of date.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitnexus.memory.words import asked, folded

_K, _B = 1.2, 0.75
# A word in the name or the title says more about a text than one inside it.
_TITLE = 4.0
_WHOLE = 3


@dataclass(frozen=True, slots=True)
class Text:
    """Something that can be found."""

    kind: str
    name: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What was found, how well it fits, and the line that shows it."""

    text: Text
    score: float
    excerpt: str


def search(query: str, texts: Iterable[Text], limit: int = 10) -> list[Hit]:
    """Return what fits the query best; every text that holds one of its words is considered."""
    terms = asked(query)
    pool = [(text, folded(f"{text.name}\n{text.title}"), folded(text.body)) for text in texts]
    if not terms or not pool:
        return []
    average = sum(len(body) for _, _, body in pool) / len(pool) or 1.0
    scores = [0.0] * len(pool)
    for term in terms:
        counts = [_TITLE * count(term, title) + count(term, body) for _, title, body in pool]
        holding = sum(found > 0 for found in counts)
        weight = math.log(1 + (len(pool) - holding + 0.5) / (holding + 0.5))
        for at, found in enumerate(counts):
            if found:
                length = 1 - _B + _B * len(pool[at][2]) / average
                scores[at] += weight * found * (_K + 1) / (found + _K * length)
    best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: (-scores[at], pool[at][0].name))
    return [Hit(pool[at][0], round(scores[at], 3), _excerpt(pool[at][0].body, terms)) for at in best[:limit]]


def count(term: str, text: str) -> int:
    """Return how many words begin with a stem; one too short to be a stem must be the whole word.

    By searching for the letters: a pattern that looks behind itself takes ten times as long.
    """
    size, found = len(term), 0
    at = text.find(term)
    while at >= 0:
        begins = at == 0 or not _is_word(text[at - 1])
        if begins and (size >= _WHOLE or at + size == len(text) or not _is_word(text[at + size])):
            found += 1
        at = text.find(term, at + size)
    return found


def _is_word(ch: str) -> bool:
    return ch.isalnum() or ch == "_"


def _excerpt(body: str, terms: Sequence[str]) -> str:
    lines = [line.strip() for line in body.split("\n") if line.strip() and not line.startswith("#")]
    lines = [line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for line in lines]
    found = max(lines, key=lambda line: sum(count(term, folded(line)) > 0 for term in terms), default="")
    return found if len(found) <= 200 else found[:199] + "…"
