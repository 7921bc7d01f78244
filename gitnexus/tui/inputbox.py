"""The input widget: several lines, history by arrow keys, completion, and telling a paste from typing."""

import time
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from gitnexus.tui.completing import CompletionOffer
from gitnexus.tui.history import InputHistory

# As quick as this, and so often in a row, is no person.
_BURST, _MANY = 0.008, 6


class InputBox(TextArea):
    """Enter sends, Ctrl-J (or Alt-Enter, Shift-Enter) begins a new line."""

    DEFAULT_CSS = """
    InputBox { height: auto; min-height: 3; max-height: 10; border: round $primary; padding: 0 1;
               scrollbar-size-vertical: 1; }
    InputBox:focus { border: round $accent; }
    InputBox:nocolor .text-area--cursor, InputBox:nocolor .text-area--selection { text-style: reverse; }
    """

    @dataclass
    class Sent(Message):
        """The user pressed Enter. `pasted`: a part of the text was pasted."""

        text: str
        pasted: bool

    class Left(Message):
        """The user wants to go to the cards."""

    class Ended(Message):
        """Ctrl-D in an empty input."""

    def __init__(self) -> None:
        super().__init__(id="input", show_line_numbers=False, soft_wrap=True, tab_behavior="focus")
        self.highlight_cursor_line = False
        self.history_of = InputHistory()
        self._offers: list[CompletionOffer] = []
        self._offered_for = ("", 0)
        self.offered = 0
        self.walked = ""
        self.pasted = False
        self._last = 0.0
        self._quick = 0

    @property
    def offers(self) -> list[CompletionOffer]:
        """The completions for the current text; those for an earlier text are discarded."""
        return self._offers if self._offered_for == (self.text, self.place) else []

    def set_offers(self, found: list[CompletionOffer], text: str, place: int) -> None:
        """Set the completions that were found for a text."""
        if [one.text for one in found] != [one.text for one in self._offers]:
            self.offered = 0
        self._offers, self._offered_for = found, (text, place)

    def fill_input(self, text: str) -> None:
        """Replace the input, with the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    @property
    def place(self) -> int:
        """The position of the cursor in the text."""
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.text.split("\n")[:row]) + column

    def accept(self) -> None:
        """Insert the selected completion."""
        offer = self.offers[self.offered]
        text, end = self.text, self.place
        done = f"{text[: offer.start]}{offer.text} "
        self.text = done + text[end:].lstrip(" ")
        lines = done.split("\n")
        self.move_cursor((len(lines) - 1, len(lines[-1])))

    async def _on_paste(self, event: events.Paste) -> None:
        self.pasted = True
        event.prevent_default()  # else the handler of the class above is called once more, and the paste is there twice
        await super()._on_paste(event)

    async def _on_key(self, event: events.Key) -> None:
        self._detect_fast_typing()
        if self._take_special_key(event.key):
            event.prevent_default()
            event.stop()
            return
        await super()._on_key(event)

    def _take_special_key(self, key: str) -> bool:
        match key:
            case "enter":
                self._send_input()
            case "ctrl+j" | "alt+enter" | "shift+enter":
                self.insert("\n")
            case "tab" if self.offers:
                self.accept()
            case "tab" | "shift+tab":
                self.post_message(self.Left())
            case "up" | "down" if len(self.offers) > 1:
                self.offered = (self.offered + (1 if key == "down" else -1)) % len(self.offers)
                self.post_message(self.Changed(self))
            case "up" if self.cursor_location[0] == 0:
                self._show_history_text(*self.history_of.step_back(self.text))
            case "down" if self.cursor_location[0] == self.document.line_count - 1:
                self._show_history_text(*self.history_of.step_forward())
            case "ctrl+d" if not self.text:
                self.post_message(self.Ended())
            case _:
                return False
        return True

    def _send_input(self) -> None:
        text, pasted = self.text, self.pasted
        self.pasted, self._quick = False, 0
        self.text = ""
        self.post_message(self.Sent(text, pasted))

    def _show_history_text(self, history: InputHistory, text: str | None) -> None:
        self.history_of = history
        if text is not None:
            self.walked = text
            self.fill_input(text)

    def _detect_fast_typing(self) -> None:
        """Detect keys that come as fast as a paste, because not every terminal marks one."""
        now = time.monotonic()
        self._quick = self._quick + 1 if now - self._last < _BURST else 0
        self._last = now
        if self._quick >= _MANY:
            self.pasted = True
        elif not self.text:
            self.pasted = False
