"""`git nexus uninstall`: remove git nexus from this repository."""

import click

from gitnexus.app.uninstall import uninstall_project
from gitnexus.base.errors import BadUsage
from gitnexus.base.text import make_visible
from gitnexus.git import discover
from gitnexus.projects.open_project import describe_project
from gitnexus.ui.commands import NexusCommand, can_person_answer, current_invocation
from gitnexus.ui.output import print_answer, start_folder


@click.command("uninstall", cls=NexusCommand)
@click.option("--purge", is_flag=True, help="Delete the state refs too.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting the refs.")
@click.pass_context
def uninstall_from_repository(ctx: click.Context, purge: bool, yes: bool) -> None:
    """Remove git nexus from this repository.

    Removes hooks, what harness install added to files of the project, our lines in info/exclude and the registration,
    and moves .nexus/ into the git folder's trash. The state stays on its ref, so that git nexus init restores
    everything; --purge deletes it too.
    """
    asked = current_invocation(ctx)
    if purge and not yes:
        if not can_person_answer() or asked.as_json:
            raise BadUsage(
                "--purge deletes plans, tasks, memory and history; it needs --yes here",
                hint="without --purge the state stays on its ref",
            )
        click.confirm("Delete plans, tasks, memory and history of this project?", abort=True, err=True)
    repo = discover(start_folder(asked), inherit=True)
    project = describe_project(repo)  # before it is forgotten
    removed = uninstall_project(repo, purge=purge)
    lines = [f"  {change}" for change in removed.changes] + [f"  note: {note}" for note in removed.notes]
    head = (
        "Removed git nexus from this repository:"
        if removed.changes or removed.notes
        else "git nexus was not installed here."
    )
    print_answer(
        {"changes": removed.changes, "notes": removed.notes, "parked": removed.parked},
        make_visible("\n".join([head, *lines])),
        lambda: project,
    )
