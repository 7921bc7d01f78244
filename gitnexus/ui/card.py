"""Draws a card on the terminal, in a frame that agent text cannot leave."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from gitnexus.base.text import frame_text

if TYPE_CHECKING:
    from gitnexus.gateway.card import Card, FileRow

_FOLDED_AT = 40
_LONGEST_FACT = 600
_MOST_PLACES = 10
DiffLineKind = Literal["", "head", "hunk", "add", "del"]
_DIFF_HEADS = ("+++", "---", "diff ", "index ", "new file", "deleted file", "old mode", "new mode")
_DIFF_COLOURS = {"add": "green", "del": "red", "hunk": "cyan"}
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def draw_card(card: "Card", *, whole: bool = False, width: int = 100, name: str = "") -> list[str]:
    """Return the lines of a card; without `whole`, long parts are folded and their size is shown."""
    return _CardDrawing(card, whole, width).lines(name)


def folded_parts(card: "Card", width: int = 100) -> list[str]:
    """Return the parts that are folded when a card is not drawn whole, with their sizes."""
    drawing = _CardDrawing(card, False, width)
    drawing.lines("")
    return drawing.folded


class _CardDrawing:
    """A card while it is drawn; `folded` lists the folded parts."""

    def __init__(self, card: "Card", whole: bool, width: int) -> None:
        self._card = card
        self._whole = whole
        self._width = width
        self.folded: list[str] = []

    def lines(self, name: str) -> list[str]:
        card, width = self._card, self._width
        colour = ("green", "green", "yellow", "red", "red")[card.risk]
        risk = click.style(f"risk {card.risk} of 4", fg=colour, bold=True)
        title = click.style(card.kind, bold=True)
        lines = [f"┌ {title} {name}  {risk}  {click.style(card.verdict, fg=_COLOURS[card.verdict])}".rstrip()]
        lines += [*frame_text(card.summary, width)] if card.summary else []
        lines += self._fact_lines()
        lines += [piece for line in _file_lines(card.files) for piece in frame_text(line, width)]
        lines += self._warning_lines()
        lines += self._hidden_lines()
        lines += self._body_lines("body", card.body)
        for part in card.parts:
            lines += ["│", *(click.style(line, bold=True) for line in frame_text(part.title, width))]
            lines += self._body_lines(part.title, part.lines)[1:]
        for missing in card.missing:
            lines += [click.style(line, fg="red") for line in frame_text(f"not shown here: {missing}", width)]
        return [*lines, "└"]

    def _fact_lines(self) -> list[str]:
        card, lines = self._card, []
        rows = [("rule", f"{card.rule}: {card.why}"), *card.facts]
        rows += [("tags", ", ".join(card.tags))] if card.tags else []
        rows += [("mode", card.mode)] if card.mode != "default" else []
        rows += [("digest", card.digest)]
        for label, value in rows:
            text, rest = f"{label.ljust(8)} {value}", 0
            if not self._whole and len(text) > _LONGEST_FACT:
                rest = len(text) - _LONGEST_FACT
                text = text[:_LONGEST_FACT]
            shown = frame_text(text, self._width)
            red = card.mode == "bypass" and label == "mode"
            lines += [click.style(line, fg="red", bold=True) if red else line for line in shown]
            if rest:
                lines.append(self._fold_line(label, rest, "characters"))
        return lines

    def _warning_lines(self) -> list[str]:
        warnings = self._card.warnings
        shown = warnings if self._whole else warnings[:_MOST_PLACES]
        lines = [piece for warning in shown for piece in frame_text(f"look twice: {warning}", self._width)]
        styled = [click.style(line, fg="red") for line in lines]
        rest = len(warnings) - len(shown)
        return [*styled, self._fold_line("what to look at twice", rest, "lines")] if rest else styled

    def _hidden_lines(self) -> list[str]:
        card = self._card
        if not card.hidden:
            return []
        places = card.hidden_at if self._whole else card.hidden_at[:_MOST_PLACES]
        lines = [card.hidden, *(f"hidden: {place}" for place in places)]
        shown = [click.style(piece, fg="yellow") for line in lines for piece in frame_text(line, self._width)]
        rest = len(card.hidden_at) - len(places)
        return [*shown, self._fold_line("hidden", rest, "places")] if rest else shown

    def _body_lines(self, name: str, lines: Sequence[str]) -> list[str]:
        if not lines:
            return []
        # A line that is broken into many is as long as many.
        most = len(lines) if self._whole else self._count_fitting_lines(lines)
        shown = ["│"]
        for line in lines[:most]:
            shown += [_color_diff_line(piece, line) for piece in frame_text(line, self._width)]
        rest = len(lines) - most
        return [*shown, self._fold_line(name, rest, "lines")] if rest else shown

    def _count_fitting_lines(self, lines: Sequence[str]) -> int:
        """Return the number of lines to show of a text that may be too long."""
        room, heights = _FOLDED_AT + 10, []
        for line in lines[: room + 1]:
            heights.append(1 + len(line) // self._width)
        if len(lines) <= room and sum(heights) <= room:
            return len(lines)
        used = 0
        for at, height in enumerate(heights):
            used += height
            if used > _FOLDED_AT:
                return at
        return min(_FOLDED_AT, len(lines))

    def _fold_line(self, name: str, rest: int, unit: str) -> str:
        unit = unit if rest > 1 else unit.removesuffix("s")
        self.folded.append(f"{rest} {unit}" if name == "body" else f"{rest} {unit} of {name}")
        return click.style(f"│ {rest} more {unit} are folded; v shows all of it", fg="yellow")


def _file_lines(files: "tuple[FileRow, ...]") -> list[str]:
    if not files:
        return []
    width = min(60, max(len(row.path) for row in files))
    found = []
    for row in files:
        lines = "binary" if row.added is None else f"+{row.added} −{row.removed}"
        found.append(f"{row.path.ljust(width)}  {lines.ljust(12)} {row.what}")
    added, removed = (sum(getattr(row, name) or 0 for row in files) for name in ("added", "removed"))
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return [*found, f"{count}, +{added} −{removed}"]


def diff_line_kind(line: str) -> DiffLineKind:
    """Return what a line of a diff is: the head of a file, a hunk, an added or removed line, or "" for any other."""
    if line.startswith(_DIFF_HEADS):
        return "head"
    kinds: dict[str, DiffLineKind] = {"+": "add", "-": "del", "@": "hunk"}
    return kinds.get(line[:1], "")


def _color_diff_line(piece: str, line: str) -> str:
    kind = diff_line_kind(line)
    if kind == "head":
        return click.style(piece, bold=True)
    return click.style(piece, fg=_DIFF_COLOURS[kind]) if kind else piece
