"""Find what is known: BM25 over notes, rules, context and closed cycles, with nothing indexed beforehand.

Only the words that were asked for are counted, so a thousand notes need no index that could be out of date.
"""

import math
import re
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
    patterns = [_pattern(term) for term in asked(query)]
    pool = [(text, folded(f"{text.name}\n{text.title}"), folded(text.body)) for text in texts]
    if not patterns or not pool:
        return []
    average = sum(len(body) for _, _, body in pool) / len(pool) or 1.0
    scores = [0.0] * len(pool)
    for pattern in patterns:
        counts = [_TITLE * len(pattern.findall(title)) + len(pattern.findall(body)) for _, title, body in pool]
        holding = sum(count > 0 for count in counts)
        weight = math.log(1 + (len(pool) - holding + 0.5) / (holding + 0.5))
        for at, count in enumerate(counts):
            if count:
                length = 1 - _B + _B * len(pool[at][2]) / average
                scores[at] += weight * count * (_K + 1) / (count + _K * length)
    best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: (-scores[at], pool[at][0].name))
    return [Hit(pool[at][0], round(scores[at], 3), _excerpt(pool[at][0].body, patterns)) for at in best[:limit]]


def _pattern(term: str) -> re.Pattern[str]:
    # A stem finds its endings; what is too short to be a stem is a whole word.
    tail = r"(?!\w)" if len(term) < _WHOLE else ""
    return re.compile(rf"(?<!\w){re.escape(term)}{tail}")


def _excerpt(body: str, patterns: Sequence[re.Pattern[str]]) -> str:
    lines = [line.strip() for line in body.split("\n") if line.strip() and not line.startswith("#")]
    found = max(lines, key=lambda line: sum(bool(p.search(folded(line))) for p in patterns), default="")
    return found if len(found) <= 200 else found[:199] + "…"
