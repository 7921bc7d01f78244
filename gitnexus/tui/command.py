"""`git nexus chat`: opens the chat."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.files import expand_home
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder, with_pygit2

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

READER = "nexus.screenReader"
_WAITS = 21
_YES = ("true", "yes", "on", "1")


@click.command("chat", cls=NexusCommand)
@click.option(
    "--plain/--screen",
    default=None,
    help="Lines instead of a screen, or a screen anyway. The setting nexus.screenReader makes lines the default.",
)
@click.option("--script", metavar="FILE", help="Read the lines of a file as if typed, - for standard input, then exit.")
@click.pass_context
@with_pygit2
def chat(ctx: click.Context, plain: bool | None, script: str | None) -> None:
    """Make requests, see what happens, and decide: one conversation with all runs of this project.

    Without a terminal, or with --plain, it is a line mode with the same commands. Nothing is lost when you leave: runs
    continue, and what waits for an answer is there next time.
    """
    place = start_folder(current_invocation(ctx))
    as_json = current_invocation(ctx).as_json
    spoken = _uses_screen_reader(place)
    if script is not None or as_json or not _can_draw_screen() or (spoken if plain is None else plain):
        lines = _read_script_lines(script, place) if script not in (None, "-") else None
        _run_line_mode(_open_chat(place), lines, scripted=script is not None or as_json, spoken=spoken)
        return
    from gitnexus.tui.screen import ChatApp

    app = ChatApp(lambda: _open_chat(place))
    app.run()
    if app.failure is not None:
        raise app.failure


def _uses_screen_reader(place: Path) -> bool:
    """Return True if the environment or the user's git config says that there is a screen reader. Raises: NotFound."""
    from gitnexus.git.config import user_config_value
    from gitnexus.git.discovery import discover

    told = os.environ.get("NEXUS_SCREEN_READER", "")
    repo = discover(place, inherit=True)  # where there is no repository, no screen is drawn
    return (told or user_config_value(repo, READER) or "").lower() in _YES


def _open_chat(place: Path) -> "Chat":
    from gitnexus.app import open_nexus
    from gitnexus.tui.chat import Chat

    return Chat(open_nexus(place), place)


def _can_draw_screen() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _run_line_mode(talk: "Chat", lines: Iterator[str] | None, *, scripted: bool, spoken: bool) -> None:
    from gitnexus.tui.lines import PlainChat

    live = not scripted and sys.stdin.isatty()
    as_json = current_invocation(click.get_current_context()).as_json

    # A script prints the same for every user.
    face = PlainChat(talk, io.StringIO() if as_json else sys.stdout, live=live, spoken=spoken and live)
    try:
        face.talk_until_end(lines if lines is not None else face.typed())
        if as_json:
            print_answer(_chat_as_json(talk), "", talk.nexus.described)
    finally:
        talk.close()
    if not live:
        sys.exit(1 if talk.failures else _WAITS if talk.waiting() else 0)


def _chat_as_json(talk: "Chat") -> dict[str, Any]:
    entries = [{"speaker": one.speaker, "text": one.text, "run": one.run} for one in talk.said]
    waiting = [
        {
            "id": card.id,
            "kind": card.kind,
            "title": card.title,
            "run": card.run,
            "action": card.action,
            "digest": card.digest,
            "keys": [key.letter for key in card.keys],
        }
        for card in talk.waiting()
    ]
    return {"entries": entries, "waiting": waiting}


def _read_script_lines(name: str | None, place: Path) -> Iterator[str]:
    from gitnexus.base.errors import NotFound
    from gitnexus.base.text import one_line

    try:
        text = (place / expand_home(name or "")).read_text(encoding="utf-8", errors="replace")
    except OSError as exc:
        raise NotFound(f"{one_line(name or '', 200)} cannot be read: {exc.strerror}") from exc
    return iter(text.splitlines())
