"""Computes how similar two notes are. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from gitnexus.memory.model import Note
from gitnexus.memory.names import category_of_name, topic_of_name
from gitnexus.memory.words import stems_of_text

# Fewer telling words than this prove nothing by being shared.
_ENOUGH = 5
# A word that so many notes share does not bring two of them together.
_COMMON = 50


class NoteGist:
    """The parts of a note that are compared."""

    __slots__ = ("body", "category", "topic")

    def __init__(self, note: Note, prefixes: Sequence[str]) -> None:
        self.category = category_of_name(note.name, prefixes)
        self.topic = stems_of_text(topic_of_name(note.name, prefixes)) or frozenset(note.name.split("-"))
        self.body = stems_of_text(note.text)


def note_similarity(one: NoteGist, other: NoteGist) -> float:
    """Return 0 to 1; notes of different categories never overlap."""
    if one.category != other.category:
        return 0.0
    shared, less = one.topic & other.topic, min(len(one.topic), len(other.topic))
    within = len(shared) == less and less > 1  # "stripe webhooks" is within "stripe webhook retries"
    topic = 1.0 if within else len(shared) / len(one.topic | other.topic)
    smaller = min(len(one.body), len(other.body))
    body = len(one.body & other.body) / smaller if smaller >= _ENOUGH else 0.0
    score = max(body, (topic + body) / 2, topic if topic == 1 else 0.0)
    return score / 2 if _name_different_things(one, other) else score


def _name_different_things(one: NoteGist, other: NoteGist) -> bool:
    """Return True if each name has a word that its own text uses and the other does not, as in GitHub and GitLab."""
    mine, theirs = one.topic - other.topic, other.topic - one.topic
    return bool((mine & one.body) - other.body) and bool((theirs & other.body) - one.body)


def nearest_note(new: Note, notes: Iterable[Note], prefixes: Sequence[str], least: float) -> Note | None:
    """Return the note that overlaps most with `new`, if by `least` or more; on a tie the first by name."""
    gist = NoteGist(new, prefixes)
    scored = [(note_similarity(gist, NoteGist(note, prefixes)), note) for note in notes]
    close = [(score, note) for score, note in scored if score >= least]
    return min(close, key=lambda row: (-row[0], row[1].name))[1] if close else None


def find_similar_pairs(notes: Sequence[Note], prefixes: Sequence[str], least: float) -> list[tuple[Note, Note, float]]:
    """Return near-duplicates, the closest first; each note is in one pair at most."""
    gists = [NoteGist(note, prefixes) for note in notes]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for at, gist in enumerate(gists):
        for word in gist.topic | gist.body:
            holders[word].append(at)
    close = {pair for found in holders.values() if len(found) <= _COMMON for pair in combinations(found, 2)}
    scored = sorted(
        ((note_similarity(gists[a], gists[b]), notes[a], notes[b]) for a, b in close),
        key=lambda row: (-row[0], row[1].name, row[2].name),
    )
    taken: set[str] = set()
    chosen = []
    for score, one, other in scored:
        if score >= least and one.name not in taken and other.name not in taken:
            taken |= {one.name, other.name}
            chosen.append((one, other, score))
    return chosen
