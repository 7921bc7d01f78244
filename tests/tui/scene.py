"""A chat on a screen that nobody sees, and somebody who types, looks and waits."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from textual.pilot import Pilot

from gitnexus.app import open_nexus
from gitnexus.tui.chat import Chat
from gitnexus.tui.guard import QUIET, SEEN
from gitnexus.tui.model import ChatCard
from gitnexus.tui.screen import ChatApp

PATIENCE = 40.0


class Person:
    """Sits before the screen."""

    def __init__(self, app: ChatApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.stream = app.stream

    async def asks(self, text: str) -> None:
        """Type a text and send it."""
        self.app.box.fill_input(text)
        await self.pilot.press("enter")

    async def sees(self, words: str) -> str:
        """Wait until the screen tells something, and return all it tells."""
        await self.waits_until(lambda: words in self.stream.text(), words)
        return self.stream.text()

    async def card(self, kind: str) -> ChatCard:
        """Wait for a card of a kind that waits, and return it."""
        await self.waits_until(
            lambda: any(card.kind == kind and card.waits for card in self.stream.cards()), f"a {kind}"
        )
        return next(card for card in reversed(self.stream.cards()) if card.kind == kind and card.waits)

    async def answers(self, kind: str, letter: str, said: str = "", *, unfold: bool = False) -> ChatCard:
        """Go to a card of a kind, look at it, all of it with `unfold`, and press a key; type what that asks for."""
        card = await self.card(kind)
        self.app._focus_cards()
        self.app._look_at_card(card.id)
        await self.pilot.pause()
        await asyncio.sleep(max(SEEN, QUIET) + 0.02)
        if unfold:
            await self.pilot.press("v")
            await asyncio.sleep(max(SEEN, QUIET) + 0.02)
            await self.pilot.pause()
        await self.pilot.press(letter)
        await asyncio.sleep(QUIET * 1.5)
        await self.pilot.pause()
        if said:
            self.app.box.fill_input(said)
            await self.pilot.press("enter")
        return card

    @contextlib.contextmanager
    def quick_typing(self) -> Iterator[None]:
        """Have all keys come at one moment, however slow the machine is."""
        clock, now = self.app._clock, self.app._clock()
        self.app._clock = lambda: now
        try:
            yield
        finally:
            self.app._clock = clock

    async def waits_until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds; fail with what the screen tells."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"never saw {what!r} in:\n{self.stream.text()}"
            await asyncio.sleep(0.02)
            await self.pilot.pause()


@contextlib.asynccontextmanager
async def opened(place: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Person]:
    """Open the chat of a project."""
    app = ChatApp(lambda: Chat(open_nexus(place), place))
    async with app.run_test(size=size) as pilot:
        person = Person(app, pilot)
        await person.waits_until(lambda: app.ready, "an open project")
        yield person
