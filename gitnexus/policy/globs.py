"""Computes where a file name pattern can lead: a start folder and what is found below it. Pure, over-approximates.

Programs interpret patterns differently. So what only some of them support (`@(a|b)`, `[^a]`, `{a..c}`, an escape)
matches anything, and case is ignored.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from gitnexus.base.files import expand_home
from gitnexus.policy.patterns import narrow_regex

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_SPREAD = 100
_CLASS = re.compile(r"\[(?:\[:\w+:\]|[^\]/])+\]?\]")
_RANGE = re.compile(r"\{[^{},/]*\.\.[^{},/]*\}")
_WILD = re.compile(r"[*?\[\]{}()\\]")
_UNKNOWN = re.compile(r"[{}()\\\[\]]")


class GlobTarget(NamedTuple):
    """A folder or file, and the pattern below it; None for everything there."""

    folder: str
    match: re.Pattern[str] | None


def expand_braces(pattern: str) -> list[str]:
    """Return a pattern with its braces expanded, at most a hundred results."""
    found = [pattern]
    while (at := next((one for one in found if _BRACES.search(one)), None)) is not None and len(found) < _MOST_SPREAD:
        found.remove(at)
        inside = _BRACES.search(at)
        if inside is not None:
            found += [at[: inside.start()] + word + at[inside.end() :] for word in inside[1].split(",")]
    return found


def widen_classes(text: str) -> str:
    """Return a pattern with a wildcard for each character class and range."""
    return _CLASS.sub("?", _RANGE.sub("*", text))


def glob_targets(folder: str, pattern: str) -> Iterator[GlobTarget]:
    """Yield where a pattern in a folder leads; nothing for a pattern that only excludes."""
    for text in expand_braces(pattern):
        # Several patterns in one text: some programs split it.
        for word in dict.fromkeys((text, *re.split(r"[\s,]+", text))):
            if word and (not word.startswith("!") or word.startswith("!(")):
                yield from _targets_of_word(
                    folder, widen_classes(str(expand_home(word)) if word.startswith("~") else word)
                )


def _targets_of_word(folder: str, word: str) -> Iterator[GlobTarget]:
    names = [name for name in word.split("/") if name not in ("", ".")]
    if word.endswith("/"):
        names.append("**")
    if word.startswith("/"):
        yield _make_target("/", names)
    # A bare name is searched at any depth.
    yield _make_target(folder, ["**", *names] if len(names) == 1 and names[0] != ".." else names)


def _make_target(folder: str, names: list[str]) -> GlobTarget:
    at = next((at for at, name in enumerate(names) if _WILD.search(name)), len(names))
    begin, rest = posixpath.join(folder, *names[:at]), "/".join(names[at:])
    up = rest.count("..")
    if up:
        return GlobTarget(posixpath.join(begin, *[".."] * up), None)
    if not rest or _UNKNOWN.search(rest):
        return GlobTarget(begin, None)
    return GlobTarget(begin, re.compile(narrow_regex(rest) + "(?:/.*)?", re.IGNORECASE | re.DOTALL))
