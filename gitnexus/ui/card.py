"""A card on the terminal: a frame that no text of an agent can leave."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import framed

if TYPE_CHECKING:
    from gitnexus.app.cards import Card, FileRow

_FOLDED_AT = 40
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def drawn(card: "Card", *, whole: bool = False, width: int = 100, name: str = "") -> list[str]:
    """Return the lines of a card; without `whole` a long body is folded and says how much is."""
    risk = click.style(f"risk {card.risk} of 4", fg=("green", "green", "yellow", "red", "red")[card.risk], bold=True)
    title = click.style(card.kind, bold=True)
    lines = [f"┌ {title} {name}  {risk}  {click.style(card.verdict, fg=_COLOURS[card.verdict])}".rstrip()]
    lines += [*framed(card.summary, width)] if card.summary else []
    rows = [("rule", f"{card.rule}: {card.why}"), *card.facts]
    rows += [("tags", ", ".join(card.tags))] if card.tags else []
    rows += [("mode", card.mode)] if card.mode != "default" else []
    rows += [("digest", card.digest)]
    for label, value in rows:
        shown = framed(f"{label.ljust(8)} {value}", width)
        lines += [
            click.style(line, fg="red", bold=True) if card.mode == "bypass" and label == "mode" else line
            for line in shown
        ]
    lines += [f"│ {line}" for line in _files(card.files)]
    for warning in card.warnings:
        lines += [click.style(line, fg="red") for line in framed(f"look twice: {warning}", width)]
    lines += [click.style(f"│ {card.hidden}", fg="yellow")] if card.hidden else []
    lines += _body(card, whole, width)
    return [*lines, "└"]


def _files(files: "tuple[FileRow, ...]") -> list[str]:
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


def _body(card: "Card", whole: bool, width: int) -> list[str]:
    if not card.body:
        return []
    shown = card.body if whole or len(card.body) <= _FOLDED_AT + 10 else card.body[:_FOLDED_AT]
    lines = ["│"]
    for line in shown:
        lines += [_coloured(piece, line) for piece in framed(line, width)]
    folded = len(card.body) - len(shown)
    if folded:
        lines.append(click.style(f"│ {folded} more lines are folded; v shows all of it", fg="yellow"))
    if card.cut and not folded:
        lines.append(click.style("│ it goes on: too long to be shown here", fg="yellow"))
    return lines


def _coloured(piece: str, line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file")):
        return click.style(piece, bold=True)
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(piece, fg=colour) if colour else piece
