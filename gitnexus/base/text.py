"""Text that somebody else wrote, made safe to show: controls and invisible characters become visible."""

import unicodedata

# Format and private characters that change how a line looks without being seen; joiners inside scripts and emoji
# are common in honest text, so only the directional and truly invisible ones are spelled out.
_SPELLED_OUT = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_HARMLESS = {"\u200d"}


def visible(text: str, *, keep: str = "\n\t") -> str:
    """Return `text` with every control, escape, bidi and zero-width character spelled as \\x1b or \\u202e."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(ch, keep) for ch in text)


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` on one safe line of at most `limit` characters."""
    line = visible(text, keep="")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def is_text(name: str) -> bool:
    """True if a name from the file system is UTF-8; others carry their bytes as surrogates and fit no JSON."""
    return not any("\ud800" <= ch <= "\udfff" for ch in name)


def _shown(ch: str, keep: str) -> str:
    if ch in keep or ch in _HARMLESS:
        return ch
    if unicodedata.category(ch) in _SPELLED_OUT:
        code = ord(ch)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return ch
