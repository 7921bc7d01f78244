"""`git nexus hooks uninstall`: remove our hooks; everything else in the hook files stays."""

import click

from gitnexus.cli.hooks.worktree import project_describer, require_worktree
from gitnexus.git import hookfiles
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer


@click.command("uninstall", cls=NexusCommand)
@click.pass_context
def uninstall_git_hooks(ctx: click.Context) -> None:
    """Remove our hooks; everything else in the hook files stays."""
    repo = require_worktree(ctx)
    gone = hookfiles.uninstall_hooks(repo)
    text = f"Removed: {', '.join(gone)}" if gone else "None of our hooks were installed."
    print_answer({"removed": gone}, text, project_describer(repo))
