"""Lays out cards and entries as rows of a given width, agent text behind a gutter that it cannot imitate. Pure."""

from collections.abc import Iterable
from textwrap import wrap
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

from gitnexus.base.text import frame_text, make_visible
from gitnexus.tui.model import CardKey, CardLine, ChatCard, ChatEntry, Tone


class TextSpan(NamedTuple):
    """A part of a row. `path` is the file of its code, for syntax highlighting."""

    text: str
    tone: Tone = ""
    path: str = ""


Row = tuple[TextSpan, ...]
_MARKS = {"you": "› ", "nexus": "", "agent": "  │ ", "output": "  ", "error": "! ", "trace": "  · "}
_TONES: dict[str, Tone] = {
    "you": "bold", "nexus": "", "agent": "", "output": "", "error": "bad", "trace": "dim",
}  # fmt: skip
NARROWEST = 20
_MOST_MARKS = 3
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


def escape_wide_marks(text: str) -> str:
    """Return a text whose letters keep their columns: few combining marks on each, and no joiners.

    A stack of marks draws over other lines, and terminals disagree on the width of joined characters.
    """
    if text.isascii():
        return text
    found, marks = [], 0
    for ch in text:
        marks = marks + 1 if category(ch) in ("Mn", "Me") else 0
        found.append(ch if marks <= _MOST_MARKS and ch not in _JOINERS else f"\\u{ord(ch):04x}")
    return "".join(found)


def break_lines(text: str, width: int) -> list[str]:
    """Return the escaped lines of a text, none wider than `width`."""
    return [piece[2:] for piece in frame_text(escape_wide_marks(text), max(NARROWEST, width))]


def wrap_words(text: str, width: int) -> list[str]:
    """Return the escaped lines of a text, wrapped between words if their width is known."""
    width, found = max(NARROWEST, width), []
    for line in make_visible(escape_wide_marks(text)).split("\n"):
        if "\t" in line or not _is_single_width(line):
            found += break_lines(line, width)
        else:
            found += wrap(line, width, replace_whitespace=False, break_on_hyphens=False) or [""]
    return found


def _is_single_width(line: str) -> bool:
    return line.isascii() or all(east_asian_width(ch) not in "WF" and not combining(ch) for ch in line)


def layout_entry(entry: ChatEntry, width: int, *, named: bool = False) -> list[Row]:
    """Return an entry as rows; `named` adds its run, if there are several."""
    mark, tone = _MARKS[entry.speaker], _TONES[entry.speaker]
    label = f"{entry.run} " if named and entry.run and entry.speaker == "agent" else ""
    room = width - len(mark) - len(label)
    rows: list[Row] = []
    pieces = break_lines(entry.text, room) if entry.speaker == "agent" else wrap_words(entry.text, room)
    for at, piece in enumerate(pieces):
        lead = mark if at == 0 or entry.speaker in ("agent", "output") else " " * len(mark)
        rows.append((TextSpan(lead, "dim"), TextSpan(label, "dim"), TextSpan(piece, tone)))
    return rows


def layout_card(
    card: ChatCard, width: int, flipped: frozenset[int] = frozenset(), *, focused: bool = False, section: int = -1
) -> list[Row]:
    """Return a card as rows. `flipped` are sections that the user folded or unfolded, `section` the selected one."""
    inner = width - 2
    mark = "▶" if focused else "┌"
    if card.settled:
        return [
            (TextSpan("─ ", "dim"), TextSpan(piece, "dim"))
            for piece in wrap_words(f"{card.title}: {card.settled}", inner)
        ]
    title: Tone = "warn" if card.waits else "bold"
    rows: list[Row] = [(TextSpan(f"{mark} ", title), TextSpan(break_lines(card.title, inner)[0], title))]
    for line in card.rows:
        rows += _layout_framed_line(line, inner)
    # What is approved stands there as it is; between words, blanks would go where a line is broken.
    exact = bool(card.digest) and card.kind != "workflow"
    for at, part in enumerate(card.sections):
        folded = part.folded != (at in flipped)
        sign = "" if not part.lines else "▸ " if folded else "▾ "
        count = f"  ({len(part.lines)} lines folded)" if folded and part.lines else ""
        chosen = focused and at == section and part.lines
        here = "  ◂" if chosen else ""
        rows += _layout_framed_line(CardLine(f"{sign}{part.title}{count}{here}", "node" if chosen else "bold"), inner)
        if not folded:
            for line in part.lines:
                rows += _layout_framed_line(line, inner, part.path, exact=exact)
    rows += (
        [(TextSpan("│ ", "dim"), TextSpan(piece, "warn")) for piece in _wrap_keys(card.keys, inner)]
        if card.waits
        else []
    )
    return [*rows, (TextSpan("└" + "─" * (width - 1), "dim"),)]


def _layout_framed_line(line: CardLine, inner: int, path: str = "", *, exact: bool = False) -> Iterable[Row]:
    pieces = break_lines(line.text, inner) if path or exact else wrap_words(line.text, inner)
    for at, piece in enumerate(pieces):
        yield (TextSpan("│ " if at == 0 else "┆ ", "dim"), TextSpan(piece, line.tone, path))


def format_key_line(keys: tuple[CardKey, ...]) -> str:
    """Return the keys of a card on one line; ? explains each."""
    return "  ".join(f"[{key.letter}] {short_key_label(key)}" for key in keys)


def _wrap_keys(keys: tuple[CardKey, ...], inner: int) -> list[str]:
    """Return the keys as lines, without splitting a key."""
    lines = [""]
    for word in (f"[{key.letter}] {short_key_label(key)}" for key in keys):
        if lines[-1] and len(lines[-1]) + 2 + len(word) > inner:
            lines.append("")
        lines[-1] += f"  {word}" if lines[-1] else word
    return [piece for line in lines for piece in break_lines(line, inner)]


def short_key_label(key: CardKey) -> str:
    """Return a short label for a key."""
    return key.label.partition(" (also:")[0].partition(";")[0]


def format_key_help(card: ChatCard) -> str:
    """Return an explanation of each key of a card, one line each."""
    return "\n".join(f"{key.letter}  {key.label}" for key in card.keys)
