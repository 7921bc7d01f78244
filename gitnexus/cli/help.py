"""`git nexus help`."""

import click

from gitnexus.ui.commands import LazyGroup, NexusCommand, unknown
from gitnexus.ui.output import answer


@click.command("help", cls=NexusCommand)
@click.argument("command", nargs=-1)
@click.option("-a", "--all", "whole", is_flag=True, help="Every command, with a line each.")
@click.pass_context
def help_command(ctx: click.Context, command: tuple[str, ...], whole: bool) -> None:
    """Show the commands that one types most, all of them, or how COMMAND is used.

    COMMAND may have several words, as in git nexus help task add.
    """
    top = ctx.find_root()
    if not isinstance(top.command, LazyGroup):
        raise TypeError("the root knows its commands")
    if command:
        text = _asked(top, command).get_help()
        answer({"command": " ".join(command), "help": text}, text)
        return
    rows = [{"section": section, "name": name, "line": line} for section, name, line in top.command.listed()]
    answer({"commands": rows}, top.command.whole_help(top) if whole else top.get_help())


def _asked(ctx: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context that a command would have. Raises: click.UsageError for one that is none."""
    for word in words:
        group = ctx.command
        names = group.list_commands(ctx) if isinstance(group, click.Group) else []
        found = group.get_command(ctx, word) if isinstance(group, click.Group) else None
        if found is None:
            raise click.UsageError(unknown(ctx, word, names), ctx)
        ctx = found.context_class(found, parent=ctx, info_name=word, **found.context_settings)
    return ctx
