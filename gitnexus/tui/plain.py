"""Formats cards, entries and the status as lines of the plain front end. Pure, and safe to show.

On a terminal, our lines start at the margin and text of others is indented. A screen reader does not read indentation,
so it gets words instead: each line says what it is, and no agent text can imitate one of ours.
"""

import re

from gitnexus.base.text import one_line
from gitnexus.tui.layout import break_lines, format_key_line, short_key_label
from gitnexus.tui.model import CardLine, CardSection, ChatCard, ChatEntry, ChatStatus

_WIDE = 10_000
_CARD = 400
_FEW = 8
_MARKS = {"you": "> ", "nexus": "", "agent": "  ", "output": "  ", "error": "error: ", "trace": "  "}
_WORDS = {"you": "you: ", "nexus": "", "agent": "agent: ", "output": "output: ", "error": "error: ", "trace": "trace: "}
_TONES = {"add": "added: ", "del": "removed: ", "head": "about the file: ", "node": "chosen "}
# A label in its column, and the blanks up to its value.
_ALIGNED = re.compile(r"^(\S{1,12}) {2,}")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")


def format_plain_entry(entry: ChatEntry, *, spoken: bool = False, named: bool = False) -> list[str]:
    """Return an entry as lines; `named` adds its run, if there are several."""
    mark = (_WORDS if spoken else _MARKS)[entry.speaker]
    if named and entry.run and entry.speaker == "agent":
        mark = f"agent of {entry.run}: " if spoken else f"{mark}{entry.run} "
    return [f"{mark}{piece}" for piece in break_lines(entry.text, _WIDE)]


def format_plain_card(card: ChatCard, *, whole: bool = False, spoken: bool = False) -> list[str]:
    """Return a card as lines; folded parts are mentioned, and shown with `whole`."""
    if card.settled:
        return [one_line(f"{card.title}: {card.settled}", _CARD)]
    lines = [f"card: {one_line(card.title, _CARD)}"]
    for line in card.rows:
        lines += _spoken_row(card, line) if spoken else [f"  {piece}" for piece in break_lines(line.text, _CARD)]
    for section in card.sections:
        shown = section.lines if whole or not section.folded else section.lines[:_FEW]
        rest = len(section.lines) - len(shown)
        title = break_lines(section.title, _CARD)[0]
        lines.append(f"part: {title}" if spoken else f"  {title}")
        for line in shown:
            lines += _spoken_line(card, section, line) if spoken else _indent_line(line)
        more = f"{rest} more lines; /show prints them"
        lines += [f"folded: {more}" if spoken else f"    {more}"] if rest else []
    if card.waits:
        lines.append(f"answer: {_spoken_keys(card) if spoken else format_key_line(card.keys)}")
    return lines


def describe_chat_status(now: ChatStatus) -> str:
    """Return the content of the status line as a sentence."""
    run = f"active run {' '.join(filter(None, (now.run, now.node, now.status)))}" if now.run else "no active run"
    waiting = f"{now.waiting} waiting for your answer" if now.waiting else "nothing waiting"
    parts = (
        f"project {now.project}",
        f"branch {now.branch}",
        f"mode {now.mode}",
        run,
        now.plan,
        now.tasks,
        waiting,
        f"cost {now.cost}" if now.cost else "",
        "trace on" if now.trace else "",
    )
    return ", ".join(filter(None, parts))


def _indent_line(line: CardLine) -> list[str]:
    text = line.text.replace("▸", ">", 1) if line.tone == "node" else line.text
    return [f"    {piece}" for piece in break_lines(text, _CARD)]


def _spoken_row(card: ChatCard, line: CardLine) -> list[str]:
    mark = "asks: " if card.kind == "question" else "summary: " if line.tone == "bold" else ""
    pieces = break_lines(line.text, _WIDE)
    # What goes on in a second line would begin one of ours. Blanks within a value are part of what is approved.
    first = pieces[0] if mark else _ALIGNED.sub(r"\1 ", pieces[0])
    return [f"{mark}{first}", *(f"{mark or 'continued: '}{piece}" for piece in pieces[1:])]


def _spoken_line(card: ChatCard, section: CardSection, line: CardLine) -> list[str]:
    text, mark = line.text, _TONES.get(line.tone, "")
    if card.kind == "workflow":
        text, mark = _collapse_blanks(text.replace("▸", "", 1)), f"{mark}node "
    elif card.kind == "command":
        text, mark = _collapse_blanks(text, 1), "word "
    elif line.tone in ("add", "del"):
        text = text[1:]
    elif line.tone == "hunk":
        found = _HUNK.match(text)
        text, mark = (f"line {found[1]}" if found else text), "from "
    elif not mark:
        mark = "unchanged: " if section.path else "text: "
    return [f"{mark}{piece}" for piece in break_lines(text, _WIDE)]


def _spoken_keys(card: ChatCard) -> str:
    return "; ".join(f"{_name_of_key(key.letter)} for {short_key_label(key)}" for key in card.keys)


def _name_of_key(letter: str) -> str:
    return {"<": "less-than", ">": "greater-than"}.get(letter, letter)


def _collapse_blanks(text: str, most: int = -1) -> str:
    """Return a text without the spaces that align it."""
    return " ".join(text.split(maxsplit=most)) if most > 0 else " ".join(text.split())
