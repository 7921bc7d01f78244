"""`git nexus hook EVENT`: the command that git hooks and hook managers run."""

import sys

import click

from gitnexus.git.hookfiles import EVENTS, SYNC_EVENT
from gitnexus.ui.commands import NexusCommand


@click.command("hook", cls=NexusCommand, context_settings={"ignore_unknown_options": True})
@click.option("--full", is_flag=True, hidden=True, help="Skip the shim: it has looked already.")
@click.argument("event", type=click.Choice([*EVENTS, SYNC_EVENT, "harness"]), metavar="EVENT")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def hook(full: bool, event: str, args: tuple[str, ...]) -> None:
    """Run one of our git hooks.

    Git calls this through a small shell script that exits at once if there is nothing to do. Put it into the config of
    husky, lefthook or pre-commit if one of those manages your hooks.

    `hook harness H EVENT` is for the hooks of a program that agents work in. H is claude-code, codex, gemini-cli or
    opencode; EVENT is session_start, user_message, subagent_spawn, pre_tool_use, post_tool_use, subagent_complete,
    context_compact or session_end. It reads the event as JSON on stdin and answers in the program's own format.
    pre_tool_use exits with status 2 whenever it cannot judge; the others never stop a session.
    """
    if event == "harness":
        from gitnexus.hooks.harness import run_harness_hook

        sys.exit(run_harness_hook(list(args)))
    from gitnexus.hooks.lifecycle import run_git_hook

    sys.exit(run_git_hook(event, list(args)))
