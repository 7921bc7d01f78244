"""The widget that shows the conversation. Draws only the visible lines, however many there are."""

from bisect import bisect_right
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gitnexus.tui.colouring import row_segments
from gitnexus.tui.layout import Row, layout_card, layout_entry
from gitnexus.tui.model import ChatCard, ChatEntry

# What is older is in the logs of the runs; /export writes what is kept.
MOST_BLOCKS = 20_000


@dataclass(slots=True)
class _StreamBlock:
    what: ChatEntry | ChatCard
    rows: list[Row]
    flipped: frozenset[int] = frozenset()
    section: int = 0


class Stream(ScrollView, can_focus=True):
    """Entries and cards, one below the other. `chosen` is the card that receives keys."""

    DEFAULT_CSS = """
    Stream { height: 1fr; overflow-y: scroll; overflow-x: hidden; scrollbar-size-vertical: 1; }
    """

    def __init__(self) -> None:
        super().__init__(id="stream")
        self._blocks: list[_StreamBlock] = []
        self._tops: list[int] = []
        self._height = 0
        self._wide = 0
        self._at: dict[str, int] = {}
        self.chosen = ""
        self.named = False
        self._follows = True
        self._base = Style()

    def add(self, things: list[ChatEntry | ChatCard]) -> None:
        """Add entries and cards; a card that is shown already is redrawn in its position."""
        for what in things:
            if isinstance(what, ChatCard) and what.id in self._at:
                self._replace_card(self._at[what.id], what)
            else:
                self._append_block(_StreamBlock(what, []))
        if len(self._blocks) > MOST_BLOCKS:
            self._drop_oldest_blocks()
        self._update_virtual_size()

    def show_card_at_end(self, card: ChatCard, *, whole: bool = False) -> None:
        """Move a card to the end."""
        if card.id in self._at:
            at = self._at.pop(card.id)
            del self._blocks[at]
            self._recompute_positions()
        self._append_block(_StreamBlock(card, [], _folded_sections(card) if whole else frozenset()))
        self.follow()

    def follow(self) -> None:
        """Scroll to the end, and stay there as more is added."""
        self._follows = True
        self._update_virtual_size()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Keep the position after scrolling back; at the end, follow new entries."""
        super().watch_scroll_y(old, new)
        self._follows = new >= self.max_scroll_y - 1

    def cards(self) -> list[ChatCard]:
        """Return the cards in order."""
        return [block.what for block in self._blocks if isinstance(block.what, ChatCard)]

    def card(self) -> ChatCard | None:
        """Return the chosen card."""
        at = self._at.get(self.chosen)
        found = self._blocks[at].what if at is not None else None
        return found if isinstance(found, ChatCard) else None

    def choose(self, card_id: str) -> None:
        """Choose a card and scroll to its end, where its keys are."""
        before, self.chosen = self.chosen, card_id
        for one in (before, card_id):
            if one in self._at:
                self._redraw_block(self._at[one])
        self._follows = False
        self._update_virtual_size()
        if card_id in self._at:
            top = self._tops[self._at[card_id]]
            height = len(self._blocks[self._at[card_id]].rows)
            room = self.size.height
            wanted = top if height <= room else top + height - room
            self.call_after_refresh(self.scroll_to, y=wanted, animate=False)

    def fold(self, *, everything: bool = False) -> None:
        """Fold or unfold the chosen section, or unfold all."""
        at = self._at.get(self.chosen)
        if at is None:
            return
        block = self._blocks[at]
        card = block.what
        assert isinstance(card, ChatCard)  # noqa: S101 - only cards are in _at
        block.flipped = _folded_sections(card) if everything else block.flipped ^ {block.section}
        self._redraw_block(at)
        self._update_virtual_size()

    def choose_section(self, by: int) -> None:
        """Choose the next or previous section of the chosen card."""
        at = self._at.get(self.chosen)
        if at is None:
            return
        block = self._blocks[at]
        card = block.what
        parts = [n for n, part in enumerate(card.sections) if part.lines] if isinstance(card, ChatCard) else []
        if parts:
            here = parts.index(block.section) if block.section in parts else -1 if by > 0 else 0
            block.section = parts[(here + by) % len(parts)]
            self._redraw_block(at)
            self._update_virtual_size()

    def text(self) -> str:
        """Return the whole conversation as text."""
        return "\n".join("".join(span.text for span in row) for block in self._blocks for row in block.rows)

    def on_resize(self) -> None:
        """Wrap all lines again; stay at the end if the view is there."""
        width = self.scrollable_content_region.width
        if width and width != self._wide:
            self._wide = width
            self._recompute_positions(anew=True)
            self.choose(self.chosen) if self.has_focus and self.chosen else self._update_virtual_size()

    def watch_has_focus(self, value: bool) -> None:
        """Show which card receives keys, if the stream has the focus."""
        super().watch_has_focus(value)
        if self.chosen in self._at:
            self._redraw_block(self._at[self.chosen])
            self._update_virtual_size()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines in view; the style is looked up once for each frame."""
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        left, top = self.scroll_offset
        line = y + top
        width = self._wide or self.size.width
        if not 0 <= line < self._height:
            return Strip.blank(width, self._base)
        at = bisect_right(self._tops, line) - 1
        row = self._blocks[at].rows[line - self._tops[at]]
        base = self._base
        drawn = [Segment(one.text, base + one.style if one.style else base) for one in row_segments(row)]
        return Strip(drawn).crop_extend(left, left + width, base)

    def _layout_block(self, block: _StreamBlock) -> list[Row]:
        width = max(20, self._wide or self.size.width or 80)
        if isinstance(block.what, ChatEntry):
            return layout_entry(block.what, width, named=self.named)
        focused = self.has_focus and block.what.id == self.chosen
        return layout_card(block.what, width, block.flipped, focused=focused, section=block.section)

    def _append_block(self, block: _StreamBlock) -> None:
        block.rows = self._layout_block(block)
        if isinstance(block.what, ChatCard):
            self._at[block.what.id] = len(self._blocks)
        self._blocks.append(block)
        self._tops.append(self._height)
        self._height += len(block.rows)

    def _replace_card(self, at: int, card: ChatCard) -> None:
        self._blocks[at].what = card
        self._redraw_block(at)

    def _redraw_block(self, at: int) -> None:
        block = self._blocks[at]
        before = len(block.rows)
        block.rows = self._layout_block(block)
        grown = len(block.rows) - before
        if grown:
            self._tops[at + 1 :] = [top + grown for top in self._tops[at + 1 :]]
            self._height += grown

    def _recompute_positions(self, *, anew: bool = False) -> None:
        self._tops, self._height, self._at = [], 0, {}
        for at, block in enumerate(self._blocks):
            if anew:
                block.rows = self._layout_block(block)
            if isinstance(block.what, ChatCard):
                self._at[block.what.id] = at
            self._tops.append(self._height)
            self._height += len(block.rows)

    def _drop_oldest_blocks(self) -> None:
        """Drop the oldest quarter, except waiting cards."""
        cut = MOST_BLOCKS // 4
        kept = [block for block in self._blocks[:cut] if isinstance(block.what, ChatCard) and block.what.waits]
        self._blocks = kept + self._blocks[cut:]
        self._recompute_positions()

    def _update_virtual_size(self) -> None:
        self.virtual_size = Size(max(1, self._wide or self.size.width), self._height)
        if self._follows:
            self.call_after_refresh(self.scroll_end, animate=False)
        self.refresh()


def _folded_sections(card: ChatCard) -> frozenset[int]:
    return frozenset(at for at, part in enumerate(card.sections) if part.folded)
