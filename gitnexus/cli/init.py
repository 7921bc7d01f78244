"""`git nexus init`: make this repository a project."""

import click

from gitnexus.app.init import init_project
from gitnexus.base.text import make_visible
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder


@click.command("init", cls=NexusCommand)
@click.option("--name", metavar="NAME", help="What other projects call this one. Default: the folder's name.")
@click.option("--alias", "aliases", metavar="NAME", multiple=True, help="Another name; may be given more than once.")
@click.option(
    "--harness",
    "harnesses",
    metavar="H",
    multiple=True,
    help="Install into a program too, at project scope; may be given more than once.",
)
@click.option("--no-hooks", is_flag=True, help="Install no git hooks.")
@click.option("--local", is_flag=True, help="Touch nothing outside this repository: do not register it.")
@click.pass_context
def init_repository(
    ctx: click.Context,
    name: str | None,
    aliases: tuple[str, ...],
    harnesses: tuple[str, ...],
    no_hooks: bool,
    local: bool,
) -> None:
    """Make this repository a project.

    Creates the state ref, checks it out into .nexus/, makes git ignore that folder, installs hooks and registers
    the project with your others. Prints what it changed. Running it again is harmless; git nexus uninstall undoes it.
    """
    start = start_folder(current_invocation(ctx))
    if harnesses:
        from gitnexus.app.harness_install import install_harness

        for harness in harnesses:  # refused now, or not at all
            install_harness(start, harness, "project", None, dry_run=True)
    done = init_project(start, name=name, aliases=aliases, with_hooks=not no_hooks, local=local)
    for harness in harnesses:
        into = install_harness(start, harness, "project", None, dry_run=False)
        done.changes += [f"installed into {into.row.name} ({len(into.changes)} files)"] if into.changes else []
        done.notes += [*into.notes, *([f"{into.row.name}: {into.next}"] if into.next else [])]
    lines = [f"  {change}" for change in done.changes] + [f"  note: {note}" for note in done.notes]
    place = done.nexus.repo.folder
    head = f"{place} is a project:" if done.changes else f"{place} was a project already; nothing changed."
    tail = ["", "Next: git nexus status", "Undo: git nexus uninstall"] if done.changes else []
    print_answer(
        {
            "created": done.created,
            "adoptedFrom": done.adopted_from,
            "changes": done.changes,
            "notes": done.notes,
            "hooks": [{"event": hook.event, "how": hook.how} for hook in done.hooks],
            "registered": done.project.plain() if done.project else None,
        },
        make_visible("\n".join([head, *lines, *tail])),
        done.nexus.described,
    )
    done.nexus.close()
