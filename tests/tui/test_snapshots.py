"""A picture of each card for the docs, drawn by the widget of the screen. To draw them anew:

DRAW_CARDS=1 python -m pytest tests/tui/test_snapshots.py
"""

import asyncio
import html
import os
import re
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from gitnexus.tui.layout import layout_card
from gitnexus.tui.stream import Stream
from tests.tui import sample

PICTURES = Path(__file__).parents[2] / "docs" / "reference" / "chat"
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_TEXTS = re.compile(r"<text [^>]*>([^<]*)</text>")


class Frame(App[None]):
    """The stream of the chat and nothing else."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.stream = Stream()

    def compose(self) -> ComposeResult:
        yield self.stream


async def drawn(name: str) -> str:
    """Return a card as it is drawn when somebody looks at it, without fonts of elsewhere."""
    card, app = sample.ALL[name](), Frame()
    height = len(layout_card(card, 79, frozenset()))
    async with app.run_test(size=(80, height)) as pilot:
        app.stream.add([card])
        app.stream.choose(card.id)
        app.stream.focus()
        await pilot.pause()
        picture = app.export_screenshot(title=f"git nexus chat: {name}", simplify=True)
    plain = re.sub(r"\s*<!--.*?-->", "", _FONTS.sub("", picture))
    return plain.replace("<text ", '<text xml:space="preserve" ')  # blanks at the beginning are meant


@pytest.mark.parametrize("name", list(sample.ALL))
def test_the_picture_of_a_card_is_what_the_screen_draws(name: str) -> None:
    picture = asyncio.run(drawn(name))

    file = PICTURES / f"{name}.svg"
    if os.environ.get("DRAW_CARDS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(picture, encoding="utf-8")
    assert words(file.read_text(encoding="utf-8")) == words(picture)


def words(picture: str) -> str:
    """Return what a picture says: how it is drawn is another release of Textual's affair."""
    return html.unescape("".join(_TEXTS.findall(picture))).replace("\xa0", " ")
