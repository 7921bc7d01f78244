"""Splits bytes into lines that may be shown: secrets masked, control characters escaped, line numbers unchanged."""

import difflib
import re
from typing import NamedTuple

from gitnexus.base.text import make_visible
from gitnexus.redaction.hide import redact

_HIDDEN = re.compile(r"\[[a-z0-9-]+\]")


class MaskedLines(NamedTuple):
    """The lines of a file, and the number of masked secrets in them."""

    lines: list[str]
    hidden: int


def mask_lines(data: bytes) -> MaskedLines:
    """Return the lines of a file. Only rules decide what is masked, so that every machine sees the same text."""
    text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    masked = redact(text)  # as a whole: a line from the middle of a private key does not look like one
    before, after = _split_lines(text), _split_lines(masked.text)
    if len(before) != len(after):
        after = _align_lines(before, after)
    return MaskedLines([make_visible(line, keep="\t") for line in after], masked.count)


def is_binary_data(data: bytes) -> bool:
    """Return True if git would treat the data as binary."""
    return b"\0" in data[:8000]


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _align_lines(before: list[str], after: list[str]) -> list[str]:
    """Return `after` with empty lines where a masked secret had several, so that line numbers stay the same."""
    found: list[str] = []
    for _, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        found += _spread_lines(before[start:end], after[first:last])
    return found


def _spread_lines(before: list[str], after: list[str]) -> list[str]:
    """Return as many lines as `before` has, each line of `after` at its probable origin."""
    found: list[str] = []
    for at, line in enumerate(after):
        found.append(line)
        rest = len(after) - at - 1
        pattern = _pattern_of_masked(after[at + 1]) if rest else None
        while pattern and len(before) - len(found) > rest and not pattern.fullmatch(before[len(found)]):
            found.append("")
    return found + [""] * (len(before) - len(found))


def _pattern_of_masked(masked: str) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, _HIDDEN.split(masked))))
