"""How much two notes are about the same thing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from gitnexus.memory.model import Note
from gitnexus.memory.names import category_of, topic_of
from gitnexus.memory.words import terms

# Fewer telling words than this prove nothing by being shared.
_ENOUGH = 5
# A word that so many notes share does not bring two of them together.
_COMMON = 50


class Gist:
    """What of a note is compared."""

    __slots__ = ("body", "category", "topic")

    def __init__(self, note: Note, prefixes: Sequence[str]) -> None:
        self.category = category_of(note.name, prefixes)
        self.topic = terms(topic_of(note.name, prefixes)) or frozenset(note.name.split("-"))
        self.body = terms(note.text)


def similarity(one: Gist, other: Gist) -> float:
    """Return 0 to 1; notes of different categories are never about the same thing."""
    if one.category != other.category:
        return 0.0
    shared, less = one.topic & other.topic, min(len(one.topic), len(other.topic))
    within = len(shared) == less and less > 1  # "stripe webhooks" is within "stripe webhook retries"
    topic = 1.0 if within else len(shared) / len(one.topic | other.topic)
    smaller = min(len(one.body), len(other.body))
    body = len(one.body & other.body) / smaller if smaller >= _ENOUGH else 0.0
    score = max(body, (topic + body) / 2, topic if topic == 1 else 0.0)
    return score / 2 if _of_two_things(one, other) else score


def _of_two_things(one: Gist, other: Gist) -> bool:
    """True if each name says a word that its own text uses and the other's does not: GitHub here, GitLab there."""
    mine, theirs = one.topic - other.topic, other.topic - one.topic
    return bool((mine & one.body) - other.body) and bool((theirs & other.body) - one.body)


def nearest(new: Note, notes: Iterable[Note], prefixes: Sequence[str], least: float) -> Note | None:
    """Return the note that `new` overlaps most, if by `least` or more; the first by name among equals."""
    gist = Gist(new, prefixes)
    scored = [(similarity(gist, Gist(note, prefixes)), note) for note in notes]
    close = [(score, note) for score, note in scored if score >= least]
    return min(close, key=lambda row: (-row[0], row[1].name))[1] if close else None


def pairs(notes: Sequence[Note], prefixes: Sequence[str], least: float) -> list[tuple[Note, Note, float]]:
    """Return near-duplicates, the closest first; no note is in two of the pairs."""
    gists = [Gist(note, prefixes) for note in notes]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for at, gist in enumerate(gists):
        for word in gist.topic | gist.body:
            holders[word].append(at)
    close = {pair for found in holders.values() if len(found) <= _COMMON for pair in combinations(found, 2)}
    scored = sorted(
        ((similarity(gists[a], gists[b]), notes[a], notes[b]) for a, b in close),
        key=lambda row: (-row[0], row[1].name, row[2].name),
    )
    taken: set[str] = set()
    chosen = []
    for score, one, other in scored:
        if score >= least and one.name not in taken and other.name not in taken:
            taken |= {one.name, other.name}
            chosen.append((one, other, score))
    return chosen
