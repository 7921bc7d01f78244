"""Bytes become lines that may be shown: secrets hidden, controls spelled out, and every line still at its number."""

import difflib
import re
from typing import NamedTuple

from gitnexus.base.text import visible
from gitnexus.redaction.hide import redact

_HIDDEN = re.compile(r"\[[a-z0-9-]+\]")


class Shown(NamedTuple):
    """The lines of a file, and how many secrets are hidden in them."""

    lines: list[str]
    hidden: int


def shown(data: bytes) -> Shown:
    """Return the lines of a file. Only rules decide what is hidden, so that every machine sees the same."""
    text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    masked = redact(text)  # as a whole: a line from the middle of a private key does not look like one
    before, after = _lines(text), _lines(masked.text)
    if len(before) != len(after):
        after = _aligned(before, after)
    return Shown([visible(line, keep="\t") for line in after], masked.count)


def is_binary(data: bytes) -> bool:
    """True by git's own guess."""
    return b"\0" in data[:8000]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _aligned(before: list[str], after: list[str]) -> list[str]:
    """Return `after` with empty lines where a secret of many lines became one: numbers stay those of the file."""
    found: list[str] = []
    for _, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        found += _spread(before[start:end], after[first:last])
    return found


def _spread(before: list[str], after: list[str]) -> list[str]:
    """Return as many lines as `before` has, each of `after` where it may come from."""
    found: list[str] = []
    for at, line in enumerate(after):
        found.append(line)
        rest = len(after) - at - 1
        pattern = _could_be(after[at + 1]) if rest else None
        while pattern and len(before) - len(found) > rest and not pattern.fullmatch(before[len(found)]):
            found.append("")
    return found + [""] * (len(before) - len(found))


def _could_be(masked: str) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, _HIDDEN.split(masked))))
