"""`git nexus uninstall`."""

import click

from gitnexus.base.errors import BadUsage
from gitnexus.base.text import visible
from gitnexus.ui.commands import NexusCommand, invocation, is_terminal
from gitnexus.ui.output import answer, start_folder


@click.command("uninstall", cls=NexusCommand)
@click.option("--purge", is_flag=True, help="Delete the state refs too.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting the refs.")
@click.pass_context
def uninstall(ctx: click.Context, purge: bool, yes: bool) -> None:
    """Take git nexus out of this repository.

    Removes hooks, what harness install added to files of the project, our lines in info/exclude and the registration,
    and moves .nexus/ into the git folder's trash.
    The state stays on its ref, so that git nexus init brings everything back; --purge deletes it too.
    """
    from gitnexus.app.open import described
    from gitnexus.app.uninstall import remove
    from gitnexus.git import discover

    asked = invocation(ctx)
    if purge and not yes:
        if not is_terminal() or asked.as_json:
            raise BadUsage(
                "--purge deletes plans, tasks, memory and history; it wants --yes here",
                hint="without --purge the state stays on its ref",
            )
        click.confirm("Delete plans, tasks, memory and history of this project?", abort=True, err=True)
    repo = discover(start_folder(asked), inherit=True)
    project = described(repo)  # before it is forgotten
    removed = remove(repo, purge=purge)
    lines = [f"  {change}" for change in removed.changes] + [f"  note: {note}" for note in removed.notes]
    head = (
        "git nexus is out of this repository:"
        if removed.changes or removed.notes
        else "git nexus was not installed here."
    )
    answer(
        {"changes": removed.changes, "notes": removed.notes, "parked": removed.parked},
        visible("\n".join([head, *lines])),
        lambda: project,
    )
