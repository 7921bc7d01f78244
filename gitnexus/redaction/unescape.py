"""Removes escapes and colour codes from a line, and maps each remaining byte to its position in the original."""

import re

# Escapes that may hide a word: \u0041, \x41, %41, and colours in the middle of it.
ESCAPE = r"\\u00[2-7][0-9A-Fa-f]|\\x[2-7][0-9A-Fa-f]|%[2-7][0-9A-Fa-f]|\x1b\[[0-9;?]{0,20}[A-Za-z]"
_ESCAPE = re.compile(ESCAPE.encode("ascii"))


def has_escapes(text: bytes) -> bool:
    """Return True if the text changes when it is unescaped."""
    return _ESCAPE.search(text) is not None


def unescape_line(line: bytes) -> tuple[bytes, list[int]]:
    r"""Return the line with \\u0041, \\x41 and %41 as `A` and without colours; `offsets[i]` is the position of byte
    `i`.
    """
    plain = bytearray()
    offsets: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(line):
        plain += line[at : match.start()]
        offsets.extend(range(at, match.start()))
        if match[0][0] != 0x1B:
            plain.append(int(match[0][-2:], 16))
            offsets.append(match.start())
        at = match.end()
    plain += line[at:]
    offsets.extend(range(at, len(line) + 1))
    return bytes(plain), offsets
