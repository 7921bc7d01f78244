"""Makes untrusted text safe to show: control and invisible characters are replaced by visible escapes."""

import unicodedata
from functools import cache

# Controls, formats (bidi, zero-width, tags), surrogates, private characters and the two line breaks of Unicode.
_SPELLED_OUT = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# Letters and marks that draw nothing: fillers of Hangul, the empty braille cell, joiners, vowels that are not shown.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# How a tab is drawn in a frame, and how far it goes at most.
_TAB, _STOP = "\u21e5", 4
_JOINER, _AS_PICTURE = "\u200d", "\ufe0f"


def make_visible(text: str, *, keep: str = "\n\t") -> str:
    r"""Return `text` with every control, escape, bidi and invisible character spelled as \x1b or \u202e."""
    if text.isascii():
        return text if text.isprintable() else text.translate(_control_spellings(keep))
    return "".join(
        ch if ch in keep or not _is_hidden(ch) or _in_picture(text, at) else _spell_character(ch)
        for at, ch in enumerate(text)
    )


def visible_bytes(raw: bytes, *, keep: str = "\n\t") -> str:
    r"""Return bytes as text: bytes that are not UTF-8 are spelled as \xe9."""
    return make_visible(raw.decode("utf-8", "surrogateescape"), keep=keep)


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` on one safe line of at most `limit` characters."""
    line = make_visible(text, keep="")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def first_line(text: str, limit: int = 200) -> str:
    """Return the first line of `text` as a safe line, with an ellipsis if there are more."""
    lines = text.strip().split("\n")
    return one_line(lines[0] + (" …" if len(lines) > 1 else ""), limit)


def cut_middle(text: str, limit: int) -> str:
    """Return `text` with at most `limit` characters: what comes first says what it is, what comes last why."""
    if len(text) <= limit:
        return text
    head = limit // 3
    return f"{text[:head]}\n…\n{text[len(text) - (limit - head - 3) :]}"


def frame_text(text: str, width: int = 100) -> list[str]:
    """Return the lines of `text` behind a gutter that it cannot imitate, wrapped before a terminal would wrap them."""
    lines = []
    for line in make_visible(text).split("\n"):
        pieces = _break_line(_with_tabs(line) if "\t" in line or _TAB in line else line, width)
        lines += [f"│ {pieces[0]}", *(f"┆ {piece}" for piece in pieces[1:])]
    return lines


def _with_tabs(line: str) -> str:
    """Return the line with tabs drawn at their width, and nothing else that looks like one."""
    drawn = ""
    for piece in line.replace(_TAB, _spell_character(_TAB)).split("\t"):
        drawn += piece + _TAB.ljust(_STOP - (len(drawn) + len(piece)) % _STOP)
    return drawn[: drawn.rindex(_TAB)]


def _break_line(line: str, width: int) -> list[str]:
    if line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    pieces, used = [""], 0
    for ch in line:
        columns = 2 if unicodedata.east_asian_width(ch) in "WF" else 1
        if used + columns > width:
            pieces.append("")
            used = 0
        pieces[-1] += ch
        used += columns
    return pieces


def is_utf8_name(name: str) -> bool:
    """Return True if a file name is UTF-8; others carry their bytes as surrogates, which JSON cannot store."""
    return not any("\ud800" <= ch <= "\udfff" for ch in name)


@cache
def _control_spellings(keep: str) -> dict[int, str]:
    return {code: _spell_character(chr(code)) for code in (*range(32), 127) if chr(code) not in keep}


def _is_hidden(ch: str) -> bool:
    return unicodedata.category(ch) in _SPELLED_OUT or ch in _BLANK or _is_selector(ch)


def _is_selector(ch: str) -> bool:
    return "\ufe00" <= ch <= "\ufe0f" or "\U000e0100" <= ch <= "\U000e01ef"


def _in_picture(text: str, at: int) -> bool:
    # A family or a red heart is several characters; anywhere else the same ones carry what nobody sees.
    before = text[at - 1] if at else ""
    after = text[at + 1 : at + 2]
    if text[at] == _AS_PICTURE:
        return _is_picture(before)
    return text[at] == _JOINER and (before == _AS_PICTURE or _is_picture(before)) and _is_picture(after)


def _is_picture(ch: str) -> bool:
    return ch != "" and unicodedata.category(ch) in ("So", "Sk")


def _spell_character(ch: str) -> str:
    code = ord(ch)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python carries it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
