"""Cards, entries and the standing as lines of the plain face. Pure, and safe to show.

For eyes, ours begins a line and what others wrote is set in. Blanks and signs are not heard, so a screen reader gets
the same in words: each line says what it is, and none that an agent wrote can pass for one of ours.
"""

import re

from gitnexus.base.text import one_line
from gitnexus.tui.layout import broken, key_line, short_label
from gitnexus.tui.model import ChatCard, Entry, Line, Section, Standing

_WIDE = 10_000
_CARD = 400
_FEW = 8
_MARKS = {"you": "> ", "nexus": "", "agent": "  ", "output": "  ", "error": "error: ", "trace": "  "}
_WORDS = {"you": "you: ", "nexus": "", "agent": "agent: ", "output": "output: ", "error": "error: ", "trace": "trace: "}
_TONES = {"add": "added: ", "del": "removed: ", "head": "about the file: ", "node": "chosen "}
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")


def plain_entry(entry: Entry, *, spoken: bool = False, named: bool = False) -> list[str]:
    """Return an entry as lines; `named` says for which run, where there are several."""
    mark = (_WORDS if spoken else _MARKS)[entry.speaker]
    if named and entry.run and entry.speaker == "agent":
        mark = f"agent of {entry.run}: " if spoken else f"{mark}{entry.run} "
    return [f"{mark}{piece}" for piece in broken(entry.text, _WIDE)]


def plain_card(card: ChatCard, *, whole: bool = False, spoken: bool = False) -> list[str]:
    """Return a card as lines; what is folded is told, and shown if `whole`."""
    if card.settled:
        return [one_line(f"{card.title}: {card.settled}", _CARD)]
    lines = [f"card: {one_line(card.title, _CARD)}"]
    for line in card.rows:
        lines += _spoken_row(card, line) if spoken else [f"  {piece}" for piece in broken(line.text, _CARD)]
    for section in card.sections:
        shown = section.lines if whole or not section.folded else section.lines[:_FEW]
        rest = len(section.lines) - len(shown)
        title = broken(section.title, _CARD)[0]
        lines.append(f"part: {title}" if spoken else f"  {title}")
        for line in shown:
            lines += _spoken_line(card, section, line) if spoken else _set_in(line)
        more = f"{rest} more lines; /show prints them"
        lines += [f"folded: {more}" if spoken else f"    {more}"] if rest else []
    if card.waits:
        lines.append(f"answer: {_spoken_keys(card) if spoken else key_line(card.keys)}")
    return lines


def standing_words(now: Standing) -> str:
    """Return what the status line tells, in words."""
    run = f"active run {' '.join(filter(None, (now.run, now.node, now.status)))}" if now.run else "no active run"
    waiting = f"{now.waiting} waiting for your answer" if now.waiting else "nothing waiting"
    parts = (f"project {now.project}", f"branch {now.branch}", f"mode {now.mode}", run, now.plan, now.tasks, waiting,
             f"cost {now.cost}" if now.cost else "", "trace on" if now.trace else "")  # fmt: skip
    return ", ".join(filter(None, parts))


def _set_in(line: Line) -> list[str]:
    text = line.text.replace("▸", ">", 1) if line.tone == "node" else line.text
    return [f"    {piece}" for piece in broken(text, _CARD)]


def _spoken_row(card: ChatCard, line: Line) -> list[str]:
    mark = "asks: " if card.kind == "question" else "summary: " if line.tone == "bold" else ""
    pieces = broken(line.text, _WIDE)
    # What goes on in a second line would begin one of ours.
    return [f"{mark}{_even(pieces[0])}", *(f"{mark or 'goes on: '}{_even(piece)}" for piece in pieces[1:])]


def _spoken_line(card: ChatCard, section: Section, line: Line) -> list[str]:
    text, mark = line.text, _TONES.get(line.tone, "")
    if card.kind == "workflow":
        text, mark = _even(text.replace("▸", "", 1)), f"{mark}node "
    elif card.kind == "command":
        text, mark = _even(text, 1), "word "
    elif line.tone in ("add", "del"):
        text = text[1:]
    elif line.tone == "hunk":
        found = _HUNK.match(text)
        text, mark = (f"line {found[1]}" if found else text), "from "
    elif not mark:
        mark = "unchanged: " if section.path else "text: "
    return [f"{mark}{piece}" for piece in broken(text, _WIDE)]


def _spoken_keys(card: ChatCard) -> str:
    return "; ".join(f"{_key(key.letter)} for {short_label(key)}" for key in card.keys)


def _key(letter: str) -> str:
    return {"<": "less-than", ">": "greater-than"}.get(letter, letter)


def _even(text: str, most: int = -1) -> str:
    """Return a text without the blanks that line it up."""
    return " ".join(text.split(maxsplit=most)) if most > 0 else " ".join(text.split())
