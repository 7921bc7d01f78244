"""The plain face: lines in, lines out. For pipes, scripts, dumb terminals and screen readers; the same commands."""

import select
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from gitnexus.tui.guard import QUIET, SEEN
from gitnexus.tui.layout import broken, key_help, plain_card
from gitnexus.tui.model import Again, ChatCard, Entry, Leave, Update

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_MARKS = {"you": "> ", "nexus": "", "agent": "  ", "output": "  ", "error": "error: ", "trace": "  "}
_PAUSE = 0.05
_LOOK_EVERY = 0.5
_PROMPT = "› "
_WIDE = 10_000


class Lines:
    """Talks with one chat. `live`: a person types on a terminal, so what comes too quickly answers nothing."""

    def __init__(self, chat: "Chat", out: TextIO, *, live: bool) -> None:
        self._chat = chat
        self._out = out
        self._live = live
        self._left = False
        self._asks: tuple[ChatCard, str] | None = None
        self._shown_at = 0.0

    def talk(self, lines: Iterator[str]) -> None:
        """Take in lines until there are none, or somebody leaves."""
        self._show(self._chat.opened(past=self._live))
        self._settle()
        for text in _joined(lines):
            self._line(text)
            if self._left:
                return
            self._settle()

    def _line(self, text: str) -> None:
        if not self._live:
            self._write(f"> {text}") if text.strip() else None
        if not text.strip() or (not self._live and text.startswith("#")):
            return  # Enter alone answers nothing
        if self._asks is not None:
            (asked, letter), self._asks = self._asks, None
            self._show(self._chat.answered(asked.id, letter, text, digest=asked.digest))
            return
        card = next(reversed(self._chat.waiting()), None)
        word, _, rest = text.partition(" ")
        key = card.key(word) if card else None
        if card is None or key is None or len(word) != 1:
            if word == "?" and card is not None:
                self._write(key_help(card))
                return
            self._show(self._chat.typed(text, pasted=self._live and self._hurried()))
            return
        self._answer(card, word, rest.strip())

    def _answer(self, card: ChatCard, letter: str, rest: str) -> None:
        key = card.key(letter)
        if self._live and (self._hurried() or time.monotonic() - self._shown_at < SEEN):
            self._write("that came as quickly as a paste, so it answers nothing")
            return
        if key is not None and key.means == "edit" and self._live:
            self._chat.deeds.edited(card.id)
            return
        if key is not None and key.asks and not rest:
            self._asks = (card, letter)
            self._write(f"{key.asks}:")
            return
        self._show(self._chat.answered(card.id, letter, rest, digest=card.digest))

    def typed(self) -> Iterator[str]:
        """Yield the lines of standard input; while a person thinks, what happens is told."""
        while True:
            try:
                self._prompt()
                line = sys.stdin.readline()
            except KeyboardInterrupt:
                self._write("")
                self._show(self._chat.interrupted())
                continue
            if not line:
                return
            yield line

    def _prompt(self) -> None:
        if not self._live:
            return
        self._out.write(_PROMPT)
        self._out.flush()
        while not _typed(_LOOK_EVERY):
            updates = self._chat.look()
            if updates:
                self._write("")
                self._show(updates)
                self._out.write(_PROMPT)
                self._out.flush()

    def _settle(self) -> None:
        """Show what happens until nothing more does without a person; one who types can go on before that."""
        while True:
            try:
                self._show(self._chat.look())
                if not self._chat.working or (self._live and _typed(0)):
                    break
                time.sleep(_PAUSE)
            except KeyboardInterrupt:
                if not self._live:
                    raise
                self._show(self._chat.interrupted())  # the node, not the program
        self._show(self._chat.look())

    def _show(self, updates: list[Update]) -> None:
        for update in updates:
            match update:
                case Leave():
                    self._left = True
                case Entry(speaker=speaker, text=text):
                    if speaker != "you":
                        for piece in broken(text, _WIDE):
                            self._write(f"{_MARKS[speaker]}{piece}")
                case ChatCard():
                    self._card(update, whole=False)
                case Again(card=card, whole=whole):
                    self._card(card, whole=whole)

    def _card(self, card: ChatCard, *, whole: bool) -> None:
        if card.settled.endswith("…"):
            return
        for line in plain_card(card, whole=whole):
            self._write(line)
        if card.waits:
            self._shown_at = time.monotonic()

    def _hurried(self) -> bool:
        """True if more is there already: a paste of several lines."""
        return _typed(QUIET)

    def _write(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def _joined(lines: Iterator[str]) -> Iterator[str]:
    """Yield what was typed; a line that ends with a backslash goes on in the next one."""
    text = ""
    for line in lines:
        text += line.rstrip("\n")
        if text.endswith("\\"):
            text = text[:-1] + "\n"
            continue
        yield text
        text = ""
    if text:
        yield text


def _typed(seconds: float) -> bool:
    try:
        return bool(select.select([sys.stdin], [], [], seconds)[0])
    except (OSError, ValueError):
        return False
