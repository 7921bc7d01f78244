"""`git nexus help`: show the common commands, all commands, or the help of COMMAND."""

import click

from gitnexus.ui.commands import LazyGroup, NexusCommand, unknown_command_message
from gitnexus.ui.output import print_answer


@click.command("help", cls=NexusCommand)
@click.argument("command", nargs=-1)
@click.option("-a", "--all", "whole", is_flag=True, help="Every command, with a line each.")
@click.pass_context
def show_help(ctx: click.Context, command: tuple[str, ...], whole: bool) -> None:
    """Show the common commands, all commands, or the help of COMMAND.

    COMMAND may have several words, as in git nexus help task add.
    """
    top = ctx.find_root()
    if not isinstance(top.command, LazyGroup):
        raise TypeError("the root knows its commands")
    if command:
        text = _context_of_command(top, command).get_help()
        print_answer({"command": " ".join(command), "help": text}, text)
        return
    rows = [{"section": section, "name": name, "line": line} for section, name, line in top.command.listed()]
    print_answer({"commands": rows}, top.command.full_help_text(top) if whole else top.get_help())


def _context_of_command(ctx: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return click's context of a command. Raises: click.UsageError for an unknown one."""
    for word in words:
        group = ctx.command
        names = group.list_commands(ctx) if isinstance(group, click.Group) else []
        found = group.get_command(ctx, word) if isinstance(group, click.Group) else None
        if found is None:
            raise click.UsageError(unknown_command_message(ctx, word, names), ctx)
        ctx = found.context_class(found, parent=ctx, info_name=word, **found.context_settings)
    return ctx
