"""Colours rows for the screen: a style for each tone, and syntax highlighting of code in a diff."""

from functools import lru_cache
from typing import Any

from rich.segment import Segment
from rich.style import Style

from gitnexus.tui.layout import Row, TextSpan
from gitnexus.tui.model import Tone

STYLES: dict[Tone, Style] = {
    "": Style(),
    "dim": Style(dim=True),
    "bold": Style(bold=True),
    "good": Style(color="green"),
    "warn": Style(color="yellow", bold=True),
    "bad": Style(color="red", bold=True),
    "add": Style(color="green"),
    "del": Style(color="red"),
    "hunk": Style(color="cyan"),
    "head": Style(bold=True, dim=True),
    "node": Style(reverse=True),
}
MODES = {"default": "green", "acceptEdits": "yellow", "autopilot": "magenta", "bypass": "red"}
_ADDED, _REMOVED = Style(bgcolor="#12261e"), Style(bgcolor="#2d1618")
_TOKENS = (
    ("Token.Comment", Style(italic=True, dim=True)),
    ("Token.Keyword", Style(color="magenta")),
    ("Token.Literal.String", Style(color="yellow")),
    ("Token.Literal.Number", Style(color="cyan")),
    ("Token.Name.Function", Style(color="blue")),
    ("Token.Name.Class", Style(color="blue")),
    ("Token.Name.Decorator", Style(color="blue")),
)


def row_segments(row: Row) -> list[Segment]:
    """Return a row as segments for the screen. Its text is escaped already, and no markup in it is interpreted."""
    found: list[Segment] = []
    for span in row:
        found += (
            _code_segments(span)
            if span.path and span.tone in ("add", "del", "")
            else [Segment(span.text, STYLES[span.tone])]
        )
    return found


def _code_segments(span: TextSpan) -> list[Segment]:
    """Return a diff line: its sign in the colour of its tone, then the highlighted code."""
    sign, code = span.text[:1], span.text[1:]
    behind = {"add": _ADDED, "del": _REMOVED}.get(span.tone, Style())
    found = [Segment(sign, STYLES[span.tone] + behind)]
    return found + [Segment(text, style + behind) for text, style in highlight_code(span.path, code)]


@lru_cache(maxsize=4096)
def highlight_code(path: str, code: str) -> tuple[tuple[str, Style], ...]:
    """Return code in pieces with their styles; unchanged if the language is unknown."""
    lexer = _lexer_for_file(path.rpartition("/")[2])
    if lexer is None or not code.strip():
        return ((code, Style()),)
    pieces, used = [], 0
    for kind, text in lexer.get_tokens(code):
        kept = text[: len(code) - used]
        if kept:
            pieces.append((kept, _style_of_token(str(kind))))
            used += len(kept)
    # A lexer may leave something out or put something in: then the line is shown as it is.
    return tuple(pieces) if "".join(text for text, _ in pieces) == code else ((code, Style()),)


def _style_of_token(kind: str) -> Style:
    return next((style for name, style in _TOKENS if kind.startswith(name)), Style())


@lru_cache(maxsize=64)
def _lexer_for_file(name: str) -> Any:
    from pygments.lexers import get_lexer_for_filename  # loaded with the first difference
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
