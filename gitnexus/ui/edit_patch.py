"""Opens a waiting patch in the user's editor and returns the edited patch; on a failure the old card is shown again."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.git.user_git import open_in_editor

if TYPE_CHECKING:
    from gitnexus.runs.open_run import OpenRun


def edit_waiting_patch(run: "OpenRun", action: str, *, shows: str) -> str:
    """Let the user edit a patch; return the new action, or the old one if there is none.

    `shows` lists the secrets that the card masks: an editor masks nothing, and that is recorded.
    """
    from gitnexus.runs.actions.card import log_reveal
    from gitnexus.runs.actions.edit import propose_edited_patch, write_draft

    try:
        file = write_draft(run, action)
        if shows:
            click.echo(f"{one_line(shows, 200)}; the editor shows it, and that is recorded", err=True)
            log_reveal(run, action, "to edit it")
        open_in_editor(run.repo.worktree or run.repo.folder, file)
        new = propose_edited_patch(run, action)
    except (NexusError, OSError) as exc:
        words = exc.message if isinstance(exc, NexusError) else f"the system reported: {exc.strerror or exc}"
        click.echo(f"{action} is as it was: {one_line(words, 400)}", err=True)
        if isinstance(exc, NexusError) and exc.hint:
            click.echo(f"hint: {one_line(exc.hint, 300)}", err=True)
        return action
    click.echo(f"{new} is proposed instead of {action}", err=True)
    return new
