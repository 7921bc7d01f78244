"""Finds the end of a private key: takes the text after its BEGIN line, line by line, and returns how much is the key.

A key continues as long as its lines look like key material. A BEGIN line followed by anything else hides only itself;
otherwise one line could hide the rest of a patch from the person who approves it.
"""

import re
from typing import NamedTuple

from gitnexus.redaction.rules.identity import KEY_ENDS

_ENDS = KEY_ENDS.encode("ascii")
# What may come before the letters of a line: the sign of a diff, blanks, quotes, a gutter.
_LEAD = rb"[^A-Za-z0-9+/=\n]{0,40}"
_LETTERS = rb"[A-Za-z0-9+/=]*"
# What may come after them: the end of a text in code, or of an escaped line.
_TAIL = rb"(?:\\+[nr]|[ \t\r\"'`,;+\\)]){0,16}"
_LINE = re.compile(_LEAD + _LETTERS + _TAIL + rb"\Z")
_LAST_LINE = re.compile(_LEAD + _LETTERS + _TAIL + _LEAD + _ENDS)
_CUT_OFF = re.compile(_LEAD + rb"-----END[A-Z0-9 ]{0,80}-{0,5}\Z")
_UNFINISHED = re.compile(_LEAD + _LETTERS + rb"\Z")
_HEADER = re.compile(_LEAD + rb"(?:Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9,-]{1,80})" + _TAIL + rb"\Z")
# A key on one line, its line breaks escaped or blanks.
_ON_ONE_LINE = re.compile(rb"(?:[A-Za-z0-9+/=\\ \t\r:,]|-(?!----))*?" + _ENDS)
_REST = re.compile(rb"(?:[A-Za-z0-9+/=]|\\+[nr]|[ \t]+[A-Za-z0-9+/=]{16})*(?:[ \t\r]*\Z)?")
_QUOTED_END = re.compile(_TAIL + rb"\Z")
_DIGITS = re.compile(rb"[0-9]")
# So far the rest of the first line is looked at. A key of 16,384 bits on one line is shorter.
LONGEST_REST = 16 * 1024
_LONGEST_BEFORE = 200


class KeyStep(NamedTuple):
    """How many bytes belong to the key, and whether the key is `over`, at a line break or within a run of letters."""

    hidden: int
    over: bool = False
    ends_line: bool = False
    goes_on: bool = False


class KeyBlock:
    """A private key after its first line; `before` is the text before it on that line, such as a time."""

    def __init__(self, before: bytes) -> None:
        self._before = _zero_out_digits(before) if len(before) <= _LONGEST_BEFORE else b""
        self._is_first = True

    def step(self, text: bytes, at: int, most: int, *, last: bool) -> KeyStep | None:
        """Return what to do with the line of `text` that begins at `at`; None if more input is needed first.

        Of a line longer than `most`, only the beginning is examined.
        """
        most = LONGEST_REST if self._is_first else most
        end = text.find(b"\n", at, at + most + 1)
        whole = end >= 0 or len(text) - at <= most
        if end < 0 and whole and not last:
            return None
        line = text[at : end if end >= 0 else at + most]
        step = self._step_first_line(line, whole) if self._is_first else self._step_next_line(line, whole)
        self._is_first = False
        if step.over or end < 0:
            return step
        return KeyStep(step.hidden + 1)

    def _step_first_line(self, line: bytes, whole: bool) -> KeyStep:
        if (ended := _ON_ONE_LINE.match(line)) is not None:
            return KeyStep(ended.end(), over=True)
        rest = _REST.match(line)
        end = rest.end() if rest else 0
        if end == len(line):
            return KeyStep(end) if whole else KeyStep(end, over=True, goes_on=True)
        if whole and b"\\" in line[:end] and _QUOTED_END.match(line, end):
            return KeyStep(len(line))
        return KeyStep(end, over=True)

    def _step_next_line(self, line: bytes, whole: bool) -> KeyStep:
        same = len(self._before) if self._before and _zero_out_digits(line[: len(self._before)]) == self._before else 0
        for at in (0, same) if same else (0,):
            if (ended := _LAST_LINE.match(line, at)) is not None:
                return KeyStep(ended.end(), over=True)
            if not whole and _UNFINISHED.match(line, at):
                return KeyStep(len(line), over=True, goes_on=True)
            if whole and any(form.match(line, at) for form in (_LINE, _HEADER, _CUT_OFF)):
                return KeyStep(len(line))
        return KeyStep(0, over=True, ends_line=True)


def _zero_out_digits(text: bytes) -> bytes:
    return _DIGITS.sub(b"0", text)
