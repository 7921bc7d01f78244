"""Renders the lines around the conversation: status line, side panel, completions, key hints; needs no colour."""

from collections.abc import Sequence

from rich.text import Text

from gitnexus.tui.colouring import MODES, STYLES
from gitnexus.tui.completing import CompletionOffer
from gitnexus.tui.model import ChatCard, ChatStatus, SidePanel

_MOST_LISTED = 40


def render_status_line(now: ChatStatus) -> Text:
    """Return the status line, the most important first, because a narrow screen cuts the end."""
    text = Text(f"{now.project} · {now.branch} · ", no_wrap=True, overflow="ellipsis")
    text.append(now.mode, f"bold {MODES.get(now.mode, 'red')}")
    if now.waiting:
        text.append(" · ").append(f"{now.waiting} waiting", "bold yellow")
    run = " ".join(filter(None, (now.run, now.node, now.status))) or "no run"
    for part in filter(None, (run, now.plan, now.tasks, now.cost, "trace" if now.trace else "")):
        text.append(f" · {part}")
    return text


def render_side_panel(panel: SidePanel) -> Text:
    """Return the side panel."""
    text = Text(overflow="ellipsis")
    for title, lines in panel.parts:
        text.append(f"{title}\n", "bold")
        for line in lines[:_MOST_LISTED]:
            text.append(f"{line.text}\n", STYLES[line.tone])
        text.append("\n")
    return text


def render_offers(offers: Sequence[CompletionOffer], chosen: int) -> Text:
    """Return the completions, with the selected one marked."""
    text = Text()
    for at, one in enumerate(offers):
        style, mark = (STYLES["node"], "› ") if at == chosen else (STYLES[""], "  ")
        text.append(mark).append(one.text, style).append(f"  {one.about}\n", STYLES["dim"])
    return text


def key_hint_text(card: ChatCard | None, *, asking: bool, on_cards: bool, waiting: int) -> str:
    """Return the keys that work now."""
    if asking:
        return "Enter answers, Esc goes back"
    if on_cards:
        keys = "".join(key.letter for key in card.keys) if card and card.waits else ""
        return f"{f'{keys}: answer  ?: explain  ' if keys else ''}arrows: cards  space: fold  v: unfold  Tab: type"
    return f"Tab: {waiting} to answer" if waiting else "/help  Tab: cards  F2: panel  Ctrl-Q: leave"
