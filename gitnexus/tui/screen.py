"""The screen: a Textual application around one chat. It draws and forwards input; the chat decides what it means."""

import asyncio
import gc
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static, TextArea

from gitnexus.tui.bars import key_hint_text, render_offers, render_side_panel, render_status_line
from gitnexus.tui.completing import find_completions
from gitnexus.tui.guard import QUIET, KeyGuard
from gitnexus.tui.inputbox import InputBox
from gitnexus.tui.layout import format_key_help
from gitnexus.tui.model import CardKey, ChatCard, ChatEntry, ChatStatus, LeaveChat, ShowCardAgain, SidePanel, Update
from gitnexus.tui.stream import Stream

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

T = TypeVar("T")
_BUSY, _IDLE = 0.1, 0.5
_GARBAGE = 50_000


class ChatApp(App[None]):
    """Calls the chat in one thread, in order, so the screen never waits for git."""

    CSS = """
    #main { width: 1fr; }
    #panel { width: 34; height: 100%; border-left: solid $primary; padding: 0 1; display: none; }
    #panel.shown { display: block; }
    #offers { height: auto; max-height: 9; padding: 0 1; display: none; }
    #hint { height: 1; padding: 0 1; color: $text-muted; }
    #status { height: 1; padding: 0 1; background: $panel; }
    """
    ENABLE_COMMAND_PALETTE = False
    TITLE = "git nexus"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "stop", "Stop", priority=True),
        Binding("escape", "escape", "Back", priority=True),
        Binding("ctrl+q", "leave", "Leave", priority=True),
        Binding("f2", "panel", "Panel", priority=True),
    ]

    chat: "Chat"

    def __init__(self, opens: "Callable[[], Chat]", clock: Callable[[], float] = time.monotonic) -> None:
        """`opens` is called after the first paint, because opening a project takes longer than an empty screen."""
        # Textual makes greys of colours; where none are wanted, the terminal's own are left alone.
        if not os.environ.get("NO_COLOR"):
            os.environ.pop("NO_COLOR", None)
        super().__init__(ansi_color="NO_COLOR" in os.environ)
        # A page that glides there is many frames: too many for a slow line, and for who cannot bear motion.
        self.animation_level = "none"
        self._opens = opens
        self.ready = False
        # Why it ended by itself, for who started it.
        self.failure: BaseException | None = None
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="chat")
        self._guard = KeyGuard()
        self._asking: tuple[ChatCard, CardKey] | None = None
        self._status = ChatStatus()
        self._watcher: asyncio.Task[None] | None = None
        self._saved = ""
        self.stream = Stream()
        self.box = InputBox()

    def compose(self) -> ComposeResult:
        """Return the widgets."""
        with Horizontal():
            with Vertical(id="main"):
                yield self.stream
                yield Static("", id="offers", markup=False)
                yield self.box
                yield Static("", id="hint", markup=False)
                yield Static("", id="status", markup=False)
            yield Static("", id="panel", markup=False)

    async def on_mount(self) -> None:
        """Open the chat and start the watch, after the first paint."""
        self.box.focus()
        self._watcher = asyncio.create_task(self._run_watch_loop())
        self._watcher.add_done_callback(self._leave_after_watch)

    def on_resize(self, event: events.Resize) -> None:
        """Set the width for the output of commands."""
        self._fit_command_width(event.size.width)

    def _fit_command_width(self, width: int) -> None:
        if self.ready and width:
            self.chat.commands.columns = max(40, width - 4)

    async def on_unmount(self) -> None:
        """Close everything; runs continue."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])
        self._store_draft()
        self._thread.shutdown(wait=True)
        if self.ready:
            self.chat.close()

    async def ask(self, what: Callable[[], T]) -> T:
        """Call the chat in its own thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, what)

    def _leave_after_watch(self, task: "asyncio.Task[None]") -> None:
        """Leave if the watch has ended: the screen would be out of date."""
        if not task.cancelled() and task.exception() is not None:
            self.failure = task.exception()
            self.exit()

    async def _run_watch_loop(self) -> None:
        box = self.box
        chat = self.chat = await self.ask(self._opens)
        updates = await self.ask(chat.opened)
        # All that is loaded by now stays: to look for garbage in it would hold up a frame for a tenth of a second.
        gc.freeze()
        gc.set_threshold(_GARBAGE)
        self.ready = True
        self._fit_command_width(self.size.width)
        self._show_updates(updates)
        box.history_of = chat.history
        draft = await self.ask(chat.store.draft)
        if draft and not box.text:
            box.fill_input(draft)
        while True:
            updates, standing = await self.ask(lambda: (chat.look(), chat.status()))
            self._show_updates(updates)
            self._draw_status(standing)
            if self.query_one("#panel").has_class("shown"):
                self._draw_panel(await self.ask(chat.panel))
            self._store_draft()
            await asyncio.sleep(_BUSY if chat.working else _IDLE)

    def _store_draft(self) -> None:
        text = self.box.text if self._asking is None and self.ready else self._saved
        if text != self._saved:
            self._saved = text
            self.chat.store.keep_draft(text)

    def _show_updates(self, updates: list[Update]) -> None:
        stream = self.stream
        stream.named = len(self.chat.watch.views) > 1
        things: list[ChatEntry | ChatCard] = []
        for update in updates:
            if isinstance(update, (ChatEntry, ChatCard)):
                things.append(update)
            elif isinstance(update, ShowCardAgain):
                stream.add(things)
                things = []
                stream.show_card_at_end(update.card, whole=update.whole)
                stream.chosen = update.card.id
            elif isinstance(update, LeaveChat):
                self.exit()
        if things:
            stream.add(things)
        if updates:
            self._draw_hint()

    @on(InputBox.Sent)
    async def _take_sent_text(self, event: InputBox.Sent) -> None:
        if self._asking is not None:
            await self._answer_key_question(event.text, pasted=event.pasted)
            return
        self._show_updates(await self.ask(lambda: self.chat.typed(event.text, pasted=event.pasted)))
        self.box.history_of = self.chat.history

    async def _answer_key_question(self, text: str, *, pasted: bool) -> None:
        """Process the text that a key asked for; a pasted yes does not count."""
        assert self._asking is not None  # noqa: S101 - who calls has looked
        card, key = self._asking
        self._ask_in_input(None)
        if pasted and key.means == "approve":
            self._show_updates([ChatEntry("error", "a paste cannot approve; type the word")])
            return
        self._show_updates(await self.ask(lambda: self.chat.answered(card.id, key.letter, text, digest=card.digest)))
        self._look_at_next_card()

    @on(InputBox.Left)
    def _focus_cards(self) -> None:
        stream = self.stream
        waiting = [card for card in stream.cards() if card.waits] or stream.cards()
        if not waiting:
            stream.focus()
            return
        wanted = stream.chosen if any(card.id == stream.chosen for card in waiting) else waiting[-1].id
        stream.focus()
        self._look_at_card(wanted)
        self.call_after_refresh(self._draw_hint)

    @on(InputBox.Ended)
    def _leave_at_end_of_input(self) -> None:
        self.exit()

    def _look_at_card(self, card_id: str) -> None:
        self.stream.choose(card_id)
        self._guard = self._guard.looking_at_card(card_id, self._clock())
        self._draw_hint()

    def _look_at_next_card(self) -> None:
        """Select the next waiting card of the same run or, if there is none, follow the conversation."""
        stream, here = self.stream, self.stream.card()
        waiting = [card for card in stream.cards() if card.waits and here and card.run == here.run and card != here]
        if waiting and stream.has_focus:
            self._look_at_card(waiting[-1].id)
        else:
            self._focus_input()

    async def on_key(self, event: events.Key) -> None:
        """Handle keys that the input did not take: those of the cards."""
        stream = self.stream
        if not stream.has_focus:
            return
        if event.key == "enter":
            event.stop()
            self._draw_note("Enter answers nothing; press the key of an answer")
            return
        if self._move_between_cards(stream, event.key):
            event.stop()
            self._draw_hint()
            return
        if event.character and event.is_printable:
            event.stop()
            self._guard = self._guard.looking_at_card(stream.chosen, self._clock()).after_key_press(
                event.character, self._clock()
            )
            if self._guard.refused:
                self._draw_note(self._guard.refused)
            else:
                self.set_timer(QUIET * 1.1, self._take_pending_key)

    def on_paste(self, event: events.Paste) -> None:
        """Ignore a paste outside of the input: it answers nothing."""
        if self.stream.has_focus:
            event.stop()
            self._draw_note("a paste cannot answer")

    def _move_between_cards(self, stream: Stream, key: str) -> bool:
        cards = [card.id for card in stream.cards()]
        here = cards.index(stream.chosen) if stream.chosen in cards else len(cards)
        match key:
            case "tab" | "shift+tab":
                self._focus_input()
            case "up" if cards:
                self._look_at_card(cards[max(0, here - 1)])
            case "down" if cards:
                self._look_at_card(cards[min(len(cards) - 1, here + 1)])
            case "left" | "right":
                stream.choose_section(1 if key == "right" else -1)
            case "space":
                stream.fold()
            case _:
                return False
        return True

    async def _take_pending_key(self) -> None:
        letter = self._guard.key_to_take(self._clock())
        self._guard = self._guard.taken() if letter else self._guard
        card = self.stream.card()
        if not letter or card is None:
            return
        if letter == "v":
            self.stream.fold(everything=True)
            self.chat.mark_card_seen(card)
            return
        if letter == "?":
            self._show_updates([ChatEntry("output", format_key_help(card) or "this card has no keys")])
            return
        key = card.key(letter)
        if key is None:
            self._draw_note(f"{letter} is not a key here; ? explains the keys")
        elif key.asks:
            self._ask_in_input((card, key))
        elif key.means == "edit":
            await self._edit_card_patch(card)
        else:
            self._show_updates(await self.ask(lambda: self.chat.answered(card.id, letter, digest=card.digest)))
            if key.means in ("approve", "start", "discard", "resume"):
                self._look_at_next_card()

    async def _edit_card_patch(self, card: ChatCard) -> None:
        with self.suspend():
            self._thread.submit(self.chat.card_actions.edit_patch, card.id).result()
        self.refresh(layout=True)
        self._focus_input()  # what was saved comes up as a card of its own

    def _ask_in_input(self, asking: tuple[ChatCard, CardKey] | None) -> None:
        """Ask for a key's text in the input, or restore the input."""
        box = self.box
        if asking is not None:
            self._store_draft()
        self._asking = asking
        box.border_title = asking[1].asks if asking else ""
        box.fill_input("" if asking else self._saved)
        box.pasted = False
        self._focus_input()

    @on(TextArea.Changed)
    async def _update_offers(self) -> None:
        box = self.box
        text, place = box.text, box.place
        found = []
        if self._asking is None and text and text != box.walked:
            found = await self.ask(lambda: find_completions(text, place, self.chat.sources()))
        box.set_offers(found, text, place)
        self._draw_offers(box)

    def _draw_offers(self, box: InputBox) -> None:
        place = self.query_one("#offers", Static)
        place.update(render_offers(box.offers, box.offered))
        place.display = bool(box.offers)

    def _draw_status(self, now: ChatStatus) -> None:
        if now == self._status:
            return
        self._status = now
        self.query_one("#status", Static).update(render_status_line(now))

    def _draw_panel(self, panel: SidePanel) -> None:
        self.query_one("#panel", Static).update(render_side_panel(panel))

    def _focus_input(self) -> None:
        """Focus the input and scroll to the end of the conversation."""
        self.box.focus()
        self.stream.follow()
        self.call_after_refresh(self._draw_hint)

    def _draw_hint(self) -> None:
        stream = self.stream
        waiting = len([one for one in stream.cards() if one.waits])
        asking = self._asking is not None
        self._draw_note(key_hint_text(stream.card(), asking=asking, on_cards=stream.has_focus, waiting=waiting))

    def _draw_note(self, words: str) -> None:
        self.query_one("#hint", Static).update(Text(words, no_wrap=True, overflow="ellipsis"))

    async def action_stop(self) -> None:
        """Stop the work of the active run, not the chat."""
        self._show_updates(await self.ask(self.chat.stop))

    async def action_escape(self) -> None:
        """Go back one step: from a question, from completion, from the cards; else stop."""
        box = self.box
        if self._asking is not None:
            self._ask_in_input(None)
        elif box.offers:
            box.set_offers([], box.text, box.place)
            self._draw_offers(box)
        elif self.stream.has_focus:
            self._focus_input()
        else:
            await self.action_stop()

    def action_leave(self) -> None:
        """Leave; runs continue."""
        self.exit()

    async def action_panel(self) -> None:
        """Show or hide plan, tasks and runs."""
        panel = self.query_one("#panel")
        panel.toggle_class("shown")
        if panel.has_class("shown"):
            self._draw_panel(await self.ask(self.chat.panel))
