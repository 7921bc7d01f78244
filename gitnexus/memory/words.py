"""Normalises words for comparison: removes case, accents and common endings. Pure."""

import re
import unicodedata

_WORD = re.compile(r"\w+")
_ENDINGS = ("ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers", "ed", "es", "er", "ly", "s", "e", "y")
STOP = frozenset(
    "about above after again also although always another any because been before being below between both but can "
    "cannot could did does doing done down during each even every few for from further get gets had has have having "
    "her here his how however into its itself just like made make makes many may might more most much must need needs "
    "not now off once one only other our out over own per same she should since some such than that the their them "
    "then there these they this those through too under until upon use used uses using very was were what when where "
    "whether which while who why will with within without would you your are and all note notes".split()
)
_SHORTEST = 3


def fold_text(text: str) -> str:
    """Return `text` without case and accents."""
    low = text.casefold()
    if low.isascii():
        return low
    return "".join(ch for ch in unicodedata.normalize("NFKD", low) if not unicodedata.combining(ch))


def stem_word(word: str) -> str:
    """Return a folded word without its ending, if enough letters remain."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST + 1:
            return word[: -len(ending)]
    return word


def stems_of_text(text: str) -> frozenset[str]:
    """Return the stems of a text without common words."""
    return frozenset(
        stem_word(word) for word in _WORD.findall(fold_text(text)) if len(word) >= _SHORTEST and word not in STOP
    )


def stems_of_query(query: str) -> list[str]:
    """Return the stems of a query, each once, in order; common words only if there are no others."""
    words = list(dict.fromkeys(_WORD.findall(fold_text(query))))
    return list(dict.fromkeys(stem_word(word) for word in [w for w in words if w not in STOP] or words))
