"""`git nexus chat`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import start_folder

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_WAITS = 21


@click.command("chat", cls=NexusCommand)
@click.option("--plain", is_flag=True, help="Lines instead of a screen, for screen readers and simple terminals.")
@click.option("--script", metavar="FILE", help="Take the lines of a file as typed, - for standard input, then leave.")
@click.pass_context
def chat(ctx: click.Context, plain: bool, script: str | None) -> None:
    """Ask, see what happens, and decide: one conversation with all runs of this project.

    Without a terminal, or with --plain, it is a line mode with the same commands. Nothing is lost by leaving: runs go
    on, and what waits for an answer is there again next time.
    """
    place = start_folder(invocation(ctx))
    if script is not None or plain or not _is_screen():
        lines = _script(script, place) if script not in (None, "-") else None
        _by_lines(_opened(place), lines, scripted=script is not None)
        return
    from gitnexus.git.discovery import discover
    from gitnexus.tui.screen import ChatApp

    discover(place, inherit=True)  # where there is no repository, no screen is drawn
    app = ChatApp(lambda: _opened(place))
    app.run()
    if app.failure is not None:
        raise app.failure


def _opened(place: Path) -> "Chat":
    from gitnexus.app import open_nexus
    from gitnexus.tui.chat import Chat

    return Chat(open_nexus(place), place)


def _is_screen() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _by_lines(talk: "Chat", lines: Iterator[str] | None, *, scripted: bool) -> None:
    from gitnexus.tui.lines import Lines, typed_lines

    live = not scripted and sys.stdin.isatty()

    def prompt() -> None:
        if live:
            click.echo("› ", nl=False)

    face = Lines(talk, sys.stdout, live=live)
    try:
        face.talk(lines if lines is not None else typed_lines(prompt))
    finally:
        talk.close()
    if not live:
        sys.exit(1 if talk.failures else _WAITS if talk.waiting() else 0)


def _script(name: str | None, place: Path) -> Iterator[str]:
    from gitnexus.base.errors import NotFound
    from gitnexus.base.text import one_line

    try:
        text = (place / Path(name or "").expanduser()).read_text(encoding="utf-8", errors="replace")
    except OSError as exc:
        raise NotFound(f"{one_line(name or '', 200)} cannot be read: {exc.strerror}") from exc
    return iter(text.splitlines())
