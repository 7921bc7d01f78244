"""`git nexus critical-path`: show the longest chain of open tasks, of all or up to REF."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.graph.output import format_task_rows, print_left_out, progress_reporter
from gitnexus.projects import graph_json
from gitnexus.projects.operations import Operation
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("critical-path", cls=NexusCommand)
@click.argument("ref", required=False)
@click.option("--all", "closed_too", is_flag=True, help="Count tasks of every status, not only open ones.")
@with_standpoint
def show_critical_path(standpoint: "Standpoint", ref: str | None, closed_too: bool) -> None:
    """Show the longest chain of open tasks, of all or up to REF; a cycle is an error that names it."""
    at = graph_json.locate_readable_task(standpoint, ref, Operation.DEPS) if ref else None
    told = graph_json.critical_path_json(standpoint, at, progress_reporter(), closed_too=closed_too)
    print_left_out(told)
    head = f"{count_of(told['length'], 'task')}, each waiting for the one before"
    text = f"{head}\n{format_task_rows(told['path'])}" if told["path"] else "Nothing is open."
    print_answer(told, text, at.project.described if at else standpoint.described)
