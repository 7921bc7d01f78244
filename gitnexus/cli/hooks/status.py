"""`git nexus hooks status`: show which hooks run, how, and what is missing."""

import click

from gitnexus.base.text import make_visible
from gitnexus.cli.hooks.output import hooks_as_json
from gitnexus.cli.hooks.worktree import project_describer, require_worktree
from gitnexus.git import hookfiles
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer


@click.command("status", cls=NexusCommand)
@click.pass_context
def show_hook_status(ctx: click.Context) -> None:
    """Show which hooks run, how, and what is missing."""
    repo = require_worktree(ctx)
    found = hookfiles.hook_statuses(repo)
    rows = [[hook.event, hook.how, hook.where + (f" ({hook.manager})" if hook.manager else "")] for hook in found]
    advice = [f"note: {hook.advice}" for hook in found if hook.advice]
    missing = [hook for hook in found if not hook.runs]
    tail = ["next: git nexus hooks install"] if missing else []
    print_answer(
        hooks_as_json(found),
        make_visible("\n".join([format_columns(rows, indent=""), *advice, *tail])),
        project_describer(repo),
    )
