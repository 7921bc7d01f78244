"""Checks and suggests note names: lower-case words with dashes, an optional category prefix, no date or version."""

import re
import unicodedata
from collections.abc import Sequence

from gitnexus.base.errors import Invalid

_RULE = re.compile(r"^[a-z0-9][a-z0-9-]*$")
_LONGEST = 80
# What belongs inside the file: 2026-11, 20261116, v2, 1-2-3.
_TEMPORAL = re.compile(
    r"(?:^|(?<=[-_. ]))(?:"
    r"(?:19|20)\d\d(?:[-_.](?:0?[1-9]|1[0-2])(?:[-_.](?:0?[1-9]|[12]\d|3[01]))?)?"
    r"|(?:19|20)\d{6}"
    r"|v\d+(?:[-_.]\d+)*"
    r"|\d+(?:[-_.]\d+)+"
    r"|rev\d+"
    r")(?=$|[-_. ])",
    re.IGNORECASE,
)
_SMALL = frozenset(
    "a an and are as at be by for from how in into is it its no not of on or our so that the this to was we what when "
    "which why with you".split()
)
_WORDS_AT_MOST = 4


def require_note_name(name: str, prefixes: Sequence[str]) -> str:
    """Return a note's name without `.md`. Raises: Invalid, with a valid suggestion."""
    plain = name.strip().removeprefix("memory/").removesuffix(".md")
    temporal = _TEMPORAL.search(plain)
    fits = _RULE.match(plain) and len(plain) <= _LONGEST and not plain.endswith("-")
    if fits and not temporal and plain not in prefixes:
        return plain
    better = suggest_name(plain, prefixes)
    why = (
        f"a date or a version ({temporal.group().strip('-_. ')}) does not belong in a name: it would soon be wrong"
        if temporal
        else "a name is lower-case letters, digits and dashes, of 80 at most"
        if not fits
        else "a category alone says nothing about the topic"
    )
    raise Invalid(
        f"the note cannot be called {plain[:80]!r}: {why}",
        hint=f"call it {better}" if better else "name the topic in two to four words",
        context={"suggestion": better} if better else None,
    )


def suggest_name(text: str, prefixes: Sequence[str] = ()) -> str:
    """Return a valid name made from `text`; empty if no valid characters remain."""
    folded = unicodedata.normalize("NFKD", _TEMPORAL.sub(" ", text)).encode("ascii", "ignore").decode().lower()
    words = [word for word in re.findall(r"[a-z0-9]+", folded) if not word.isdigit()]
    telling = [word for word in words if word not in _SMALL] or words
    lead = 1 if telling[:1] and telling[0] in prefixes else 0
    name = "-".join(telling[: _WORDS_AT_MOST + lead])[:_LONGEST].strip("-")
    return "" if name in prefixes or _TEMPORAL.search(name) else name


def category_of_name(name: str, prefixes: Sequence[str]) -> str | None:
    """Return the category prefix of a name, or None."""
    first, dash, rest = name.partition("-")
    return first if dash and rest and first in prefixes else None


def topic_of_name(name: str, prefixes: Sequence[str]) -> str:
    """Return the words of a name without its category."""
    category = category_of_name(name, prefixes)
    return (name.removeprefix(f"{category}-") if category else name).replace("-", " ")
