"""`git nexus hook EVENT`: what git hooks and hook managers call."""

import sys

import click

from gitnexus.git.hookfiles import EVENTS
from gitnexus.ui.commands import NexusCommand


@click.command("hook", cls=NexusCommand, context_settings={"ignore_unknown_options": True})
@click.option("--full", is_flag=True, hidden=True, help="Skip the shim: it has looked already.")
@click.argument("event", type=click.Choice([*EVENTS, "harness"]), metavar="EVENT")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def hook(full: bool, event: str, args: tuple[str, ...]) -> None:
    """Run one of our git hooks.

    Git calls this through a small shell script that leaves at once where there is nothing to do. Put it into the
    config of husky, lefthook or pre-commit where one of those owns your hooks.

    `hook harness H post_tool_use` is for the hooks of an agent's program: it reads what happened as JSON on stdin and
    counts the notes that the program's read tool has read.
    """
    if event == "harness":
        from gitnexus.hooks.harness import run_harness_hook

        sys.exit(run_harness_hook(list(args)))
    from gitnexus.hooks.lifecycle import run_hook

    sys.exit(run_hook(event, list(args)))
