"""`git nexus prune`: forget the projects that are gone."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.projects.prune import prune_projects
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, format_columns, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("prune", cls=NexusCommand)
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option(
    "--older-than",
    metavar="DAYS",
    type=click.IntRange(0, 36500),
    default=None,
    help="Also forget projects that nobody used for so many days.",
)
@with_standpoint
def prune_registry(standpoint: "Standpoint", dry_run: bool, older_than: int | None) -> None:
    """Remove projects that no longer exist from the registry.

    A project is removed if its folder is missing or no longer a project, together with every permission that names it,
    in one commit of the home repository. Folders are not touched.
    """
    current = standpoint.current
    done = prune_projects(
        standpoint.home,
        standpoint.clock(),
        older_than=older_than,
        dry_run=dry_run,
        here=current.hash if current else None,
    )
    rows = [[one.project.name, one.why, one_line(one.project.path)] for one in done.gone]
    verb = "Would forget" if dry_run else "Forgot"
    tail = f"{verb} {count_of(len(rows), 'project')} and {count_of(done.permissions, 'permission')}; {done.kept} left."
    print_answer(
        {
            "dryRun": dry_run,
            "pruned": [{**one.project.plain(), "reason": one.why} for one in done.gone],
            "permissions": done.permissions,
            "kept": done.kept,
        },
        "\n".join([format_columns(rows, indent=""), tail])
        if rows
        else f"Nothing to forget; {count_of(done.kept, 'project')}.",
        standpoint.described,
    )
