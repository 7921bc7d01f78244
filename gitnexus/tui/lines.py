"""The plain front end: lines in, lines out. For pipes, scripts, dumb terminals and screen readers."""

import select
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from gitnexus.tui.guard import QUIET, SEEN
from gitnexus.tui.layout import format_key_help
from gitnexus.tui.model import ChatCard, ChatEntry, LeaveChat, ShowCardAgain, Update
from gitnexus.tui.plain import describe_chat_status, format_plain_card, format_plain_entry

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_PAUSE = 0.05
_LOOK_EVERY = 0.5
_PROMPT = "> "


class PlainChat:
    """The line front end of one chat.

    `live`: a person types on a terminal, so input that comes too fast answers nothing.

    `spoken`: a screen reader reads the output, so every line says what it is.
    """

    def __init__(self, chat: "Chat", out: TextIO, *, live: bool, spoken: bool = False) -> None:
        self._chat = chat
        self._out = out
        self._live = live
        self._spoken = spoken
        self._left = False
        self._asks: tuple[ChatCard, str] | None = None
        self._shown_at = 0.0
        # The card that was shown last: keys go to it.
        self._last = ""

    def talk_until_end(self, lines: Iterator[str]) -> None:
        """Process lines until the input ends or the user leaves."""
        self._show_updates(self._chat.opened(past=self._live), past=True)
        self._show_until_idle()
        if self._live:
            self._write_line(describe_chat_status(self._chat.status()))
        for text in _join_continued_lines(lines):
            self._take_line(text)
            if self._left:
                return
            self._show_until_idle()

    def _take_line(self, text: str) -> None:
        if not self._live:
            self._write_line(f"> {text}") if text.strip() else None
        if not text.strip() or (not self._live and text.startswith("#")):
            return  # Enter alone answers nothing
        if self._asks is not None:
            (asked, letter), self._asks = self._asks, None
            self._show_updates(self._chat.answered(asked.id, letter, text, digest=asked.digest))
            return
        card = self._current_card()
        word, _, rest = text.partition(" ")
        key = card.key(word) if card else None
        if card is None or key is None or len(word) != 1:
            if word == "?" and card is not None:
                self._write_line(format_key_help(card))
                return
            self._show_updates(self._chat.typed(text, pasted=self._live and self._is_pasted()))
            return
        self._answer_card(card, word, rest.strip())

    def _current_card(self) -> ChatCard | None:
        """Return the card that a key answers: the one shown last if it still waits, else the newest."""
        waiting = self._chat.waiting()
        return next((card for card in waiting if card.id == self._last), waiting[-1] if waiting else None)

    def _answer_card(self, card: ChatCard, letter: str, rest: str) -> None:
        key = card.key(letter)
        if self._live and (self._is_pasted() or time.monotonic() - self._shown_at < SEEN):
            self._write_line("that came as fast as a paste, so it does not count as an answer")
            return
        if key is not None and key.means == "edit" and self._live:
            self._chat.card_actions.edit_patch(card.id)
            return
        if key is not None and key.asks and not rest:
            self._asks = (card, letter)
            self._write_line(f"{key.asks}:")
            return
        self._show_updates(self._chat.answered(card.id, letter, rest, digest=card.digest))

    def typed(self) -> Iterator[str]:
        """Yield the lines of standard input, and show events while the user types."""
        while True:
            try:
                self._wait_for_input()
                line = sys.stdin.readline()
            except KeyboardInterrupt:
                self._write_line("")
                self._show_updates(self._chat.interrupted())
                continue
            if not line:
                return
            yield line

    def _wait_for_input(self) -> None:
        if not self._live:
            return
        self._out.write(_PROMPT)
        self._out.flush()
        while not _is_input_ready(_LOOK_EVERY):
            updates = self._chat.look()
            if updates:
                self._write_line("")
                self._show_updates(updates)
                self._out.write(_PROMPT)
                self._out.flush()

    def _show_until_idle(self) -> None:
        """Show events until nothing more happens without the user; typing ends this early."""
        while True:
            try:
                self._show_updates(self._chat.look())
                if not self._chat.working or (self._live and _is_input_ready(0)):
                    break
                time.sleep(_PAUSE)
            except KeyboardInterrupt:
                if not self._live:
                    raise
                self._show_updates(self._chat.interrupted())  # the node, not the program
        self._show_updates(self._chat.look())

    def _show_updates(self, updates: list[Update], *, past: bool = False) -> None:
        named = len(self._chat.watch.views) > 1
        for update in updates:
            match update:
                case LeaveChat():
                    self._left = True
                case ChatEntry(speaker=speaker):
                    # The terminal already shows what was just typed.
                    if past or speaker != "you":
                        self._write_line("\n".join(format_plain_entry(update, spoken=self._spoken, named=named)))
                case ChatCard():
                    self._show_card(update, whole=False)
                case ShowCardAgain(card=card, whole=whole):
                    self._show_card(card, whole=whole)

    def _show_card(self, card: ChatCard, *, whole: bool) -> None:
        if card.settled.endswith("…"):
            return
        self._write_line("\n".join(format_plain_card(card, whole=whole, spoken=self._spoken)))
        if card.waits:
            self._last = card.id
            self._shown_at = time.monotonic()

    def _is_pasted(self) -> bool:
        """Return True if more input is waiting already: a paste of several lines."""
        return _is_input_ready(QUIET)

    def _write_line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def _join_continued_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield the input; a line that ends with a backslash continues on the next one."""
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


def _is_input_ready(seconds: float) -> bool:
    try:
        return bool(select.select([sys.stdin], [], [], seconds)[0])
    except (OSError, ValueError):
        return False
