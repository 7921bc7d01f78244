"""Where a pattern of file names can lead: a folder to begin in, and what is found below it. Pure, and rather too wide.

Programs differ in what a pattern means. So what only some of them know (`@(a|b)`, `[^a]`, `{a..c}`, an escape) finds
anything in its place, and letters count in either case.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from gitnexus.base.files import expand_home
from gitnexus.policy.patterns import narrow

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_SPREAD = 100
_CLASS = re.compile(r"\[(?:\[:\w+:\]|[^\]/])+\]?\]")
_RANGE = re.compile(r"\{[^{},/]*\.\.[^{},/]*\}")
_WILD = re.compile(r"[*?\[\]{}()\\]")
_UNKNOWN = re.compile(r"[{}()\\\[\]]")


class Aim(NamedTuple):
    """A folder, or a file, and what is found below it; None for all that lies there."""

    folder: str
    match: re.Pattern[str] | None


def spread(pattern: str) -> list[str]:
    """Return a pattern with its braces spelled out, a hundred of them at most."""
    found = [pattern]
    while (at := next((one for one in found if _BRACES.search(one)), None)) is not None and len(found) < _MOST_SPREAD:
        found.remove(at)
        inside = _BRACES.search(at)
        if inside is not None:
            found += [at[: inside.start()] + word + at[inside.end() :] for word in inside[1].split(",")]
    return found


def widened(text: str) -> str:
    """Return a pattern with a wildcard in place of each class of letters and each range."""
    return _CLASS.sub("?", _RANGE.sub("*", text))


def aims_of(folder: str, pattern: str) -> Iterator[Aim]:
    """Yield where a pattern leads that is given in a folder; nothing for one that only leaves out."""
    for text in spread(pattern):
        # Several patterns in one text: some programs take them apart.
        for word in dict.fromkeys((text, *re.split(r"[\s,]+", text))):
            if word and (not word.startswith("!") or word.startswith("!(")):
                yield from _aims(folder, widened(str(expand_home(word)) if word.startswith("~") else word))


def _aims(folder: str, word: str) -> Iterator[Aim]:
    names = [name for name in word.split("/") if name not in ("", ".")]
    if word.endswith("/"):
        names.append("**")
    if word.startswith("/"):
        yield _aim("/", names)
    # A name alone is looked for at any depth.
    yield _aim(folder, ["**", *names] if len(names) == 1 and names[0] != ".." else names)


def _aim(folder: str, names: list[str]) -> Aim:
    at = next((at for at, name in enumerate(names) if _WILD.search(name)), len(names))
    begin, rest = posixpath.join(folder, *names[:at]), "/".join(names[at:])
    up = rest.count("..")
    if up:
        return Aim(posixpath.join(begin, *[".."] * up), None)
    if not rest or _UNKNOWN.search(rest):
        return Aim(begin, None)
    return Aim(begin, re.compile(narrow(rest) + "(?:/.*)?", re.IGNORECASE | re.DOTALL))
