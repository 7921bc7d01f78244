"""Finds and writes the front matter of a Markdown file: fields between two lines `---` at its top. Pure."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_LINE_END = rb"[ \t]*(?:\r\n|\r|\n|\Z)"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---" + _LINE_END)
_CLOSING = re.compile(rb"(?<=[\r\n])---" + _LINE_END)
# A YAML document may also end with three dots.
_CLOSING_OR_DOTS = re.compile(rb"(?<=[\r\n])(?:---|\.\.\.)" + _LINE_END)


class FrontMatter(NamedTuple):
    """Byte offsets in a file: start and end of the fields, and start of the text below."""

    start: int
    end: int
    text: int


class UnclosedFrontMatter(ValueError):
    """A front matter is opened and never closed."""


def locate_front_matter(raw: bytes, *, dots: bool = False) -> FrontMatter | None:
    """Return the position of a file's front matter, None if it has none; with `dots`, a line `...` closes it too.

    A byte order mark before it, spaces after the dashes and any line ends are accepted. Raises: UnclosedFrontMatter.
    """
    opening = _OPENING.match(raw)
    if opening is None:
        return None
    closing = (_CLOSING_OR_DOTS if dots else _CLOSING).search(raw, opening.end())
    if closing is None:
        raise UnclosedFrontMatter("the front matter is never closed by a line ---")
    return FrontMatter(opening.end(), closing.start(), closing.end())


def render_front_matter(rows: Iterable[str]) -> str:
    """Return a front matter of these lines between its two fences."""
    return "".join(f"{row}\n" for row in ("---", *rows, "---"))
