"""`git nexus dependents`: show the tasks that wait for one, in all projects that may be read."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.graph.output import format_task_rows, print_left_out, progress_reporter
from gitnexus.projects import graph_json
from gitnexus.projects.operations import Operation
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("dependents", cls=NexusCommand)
@click.argument("ref")
@click.option(
    "--global",
    "_everywhere",
    is_flag=True,
    help="Accepted for compatibility: all readable projects are always searched.",
)
@with_standpoint
def show_dependents(standpoint: "Standpoint", ref: str, _everywhere: bool) -> None:
    """Show the tasks that wait for one, in all projects that may be read."""
    at = graph_json.locate_readable_task(standpoint, ref, Operation.DEPENDENTS)
    told = graph_json.dependents_json(standpoint, at, progress_reporter())
    print_left_out(told)
    print_answer(told, format_task_rows(told["dependents"]) or f"Nothing waits for {at.ref}.", at.project.described)
