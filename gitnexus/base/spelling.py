"""Finds the known word that a misspelt one most likely means. Pure, and without imports: every command loads it."""

from collections.abc import Iterable


def closest_word(word: str, known: Iterable[str]) -> str:
    """Return the known word that a misspelt one most likely means, empty if none is similar."""
    folded = _fold(word[:60])
    ranked = sorted((_edits_between(folded, _fold(one)), one) for one in known)
    most = max(1, len(folded) // 3)
    return ranked[0][1] if ranked and ranked[0][0] <= most else ""


def suggest_word(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the hint for an unknown word: what it most likely means, else `otherwise` or all that there are."""
    words = list(known)
    close = closest_word(word, words)
    return f"did you mean {close}?" if close else otherwise or f"there are: {', '.join(words)}"


def _fold(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


def _edits_between(one: str, other: str) -> int:
    """Return the number of letters added, omitted, changed or swapped between two words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, last, row = row, before, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
    return row[-1]
