"""Formats the words of a command as one line of text; unusual words are bracketed and escaped, so it is unambiguous."""

import re
from collections.abc import Mapping, Sequence

from gitnexus.base.text import make_visible

_ODD = frozenset(" \t\"'\\[]$`*?{}()&|;<>~#!")
# What `visible` would spell like a byte that is not UTF-8: these are characters, and told from it.
_CHARACTERS = {code: f"\\u{code:04x}" for code in (*range(0x80, 0xA0), 0xAD)}
_ESCAPED = str.maketrans({**_CHARACTERS, ord("\\"): "\\\\"})
_IN_BRACKETS = str.maketrans({"[": "\\[", "]": "\\]"})

# A word in brackets, which may be empty, or a plain one.
_WORD = re.compile(r"\[((?:[^\\\]]|\\.)*)\]|(\S+)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)


def format_words(words: Sequence[str]) -> str:
    """Return words on one line: a plain word unchanged, any other in brackets that it cannot close."""
    return " ".join(map(format_word, words))


def format_word(word: str) -> str:
    """Return one word as it is if it is plain, else in brackets, with its own brackets and backslashes escaped."""
    return f"[{_escape_brackets(word)}]" if is_odd_word(word) else word


def format_pairs(pairs: Mapping[str, str]) -> str:
    """Return names with their values on one line, sorted; the only unescaped `=` is between name and value."""
    found = []
    for name, value in sorted(pairs.items()):
        odd = is_odd_word(name + "=" + value) or "=" in name
        both = f"{_escape_brackets(name).replace('=', chr(92) + '=')}={_escape_brackets(value)}"
        found.append(f"[{both}]" if odd else f"{name}={value}")
    return " ".join(found)


def parse_words(line: str) -> tuple[str, ...]:
    """Return the words of a line that `format_words` made."""
    return tuple(_ESCAPE.sub(_unescape, found[2] or found[1] or "") for found in _WORD.finditer(line))


def escape_word(word: str) -> str:
    """Return a word without brackets in visible form: its backslashes are doubled, so that escapes are unambiguous."""
    return make_visible(word.translate(_ESCAPED), keep="")


def bracket_if_needed(spelled: str) -> str:
    """Return an escaped word for a line of its own: in brackets if its ends would not be visible."""
    return spelled if spelled and spelled == spelled.strip() and spelled[0] != "[" else f"[{spelled}]"


def is_odd_word(word: str) -> bool:
    """Return True if a word has spaces, or characters that are not visible."""
    return not word or not word.isprintable() or not _ODD.isdisjoint(word) or make_visible(word, keep="") != word


def _escape_brackets(word: str) -> str:
    return escape_word(word).translate(_IN_BRACKETS)


def _unescape(found: re.Match[str]) -> str:
    byte, short, long, itself = found.groups()
    if itself is not None:
        return itself
    code = int(byte or short or long, 16)
    # A byte above 0x7f is one that is not UTF-8: such a character is spelled with four digits.
    return chr(0xDC00 + code if byte and code > 0x7F else code)
