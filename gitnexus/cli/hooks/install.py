"""`git nexus hooks install`: install the hooks; running it again is harmless."""

import click

from gitnexus.base.text import make_visible
from gitnexus.cli.hooks.output import hooks_as_json
from gitnexus.cli.hooks.worktree import project_describer, require_worktree
from gitnexus.git import hookfiles
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer


@click.command("install", cls=NexusCommand)
@click.option("--sync", is_flag=True, help="Also sync with the remote at each git push.")
@click.pass_context
def install_git_hooks(ctx: click.Context, sync: bool) -> None:
    """Install the hooks; running it again is harmless.

    With --sync every git push also exchanges state with that remote. If the sync fails, a message says so and the
    push continues.
    """
    repo = require_worktree(ctx)
    found = hookfiles.install_hooks(repo, sync=sync)
    running = [hook.event for hook in found if hook.runs]
    head = f"Installed: {', '.join(running)}" if running else "Nothing could be installed."
    advice = [f"note: {hook.advice}" for hook in found if hook.advice]
    print_answer(hooks_as_json(found), make_visible("\n".join([head, *advice])), project_describer(repo))
