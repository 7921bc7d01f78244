"""A patch that waits, in the person's own editor. Whatever goes wrong is a sentence, and the old card comes again."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line

if TYPE_CHECKING:
    from gitnexus.app.rundesk import RunDesk


def edited(desk: "RunDesk", action: str, *, shows: str) -> str:
    """Let a person edit a patch; return the action that was made of it, or the old one if none was.

    `shows` says which secrets the card hides: an editor hides nothing, and that is recorded.
    """
    from gitnexus.app.runcard import revealed
    from gitnexus.app.runedit import draft, taken
    from gitnexus.base.errors import NexusError
    from gitnexus.git.users import opened

    try:
        file = draft(desk, action)
        if shows:
            click.echo(f"{one_line(shows, 200)}; the editor shows it, and that is recorded", err=True)
            revealed(desk, action, "to edit it")
        opened(desk.repo.worktree or desk.repo.place, file)
        new = taken(desk, action)
    except (NexusError, OSError) as exc:
        words = exc.message if isinstance(exc, NexusError) else f"the system said: {exc.strerror or exc}"
        click.echo(f"{action} is as it was: {one_line(words, 400)}", err=True)
        if isinstance(exc, NexusError) and exc.hint:
            click.echo(f"hint: {one_line(exc.hint, 300)}", err=True)
        return action
    click.echo(f"{new} is proposed in the place of {action}", err=True)
    return new
