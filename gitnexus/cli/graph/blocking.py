"""`git nexus blocking`: show all tasks that a task blocks, directly or through others; a completed task blocks none."""

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


@click.command("blocking", cls=NexusCommand)
@click.argument("ref")
@click.option("--all", "closed_too", is_flag=True, help="Count tasks of every status, not only open ones.")
@with_standpoint
def show_blocked_tasks(standpoint: "Standpoint", ref: str, closed_too: bool) -> None:
    """Show all tasks that a task blocks, directly or through others; a completed task blocks none."""
    at = graph_json.locate_readable_task(standpoint, ref, Operation.DEPENDENTS)
    told = graph_json.blocking_json(standpoint, at, progress_reporter(), closed_too=closed_too)
    print_left_out(told)
    head = f"{at.ref} holds up {count_of(told['impact'], 'task' if closed_too else 'open task')}"
    text = f"{head}\n{format_task_rows(told['tasks'])}" if told["tasks"] else f"{at.ref} blocks nothing."
    print_answer(told, text, at.project.described)
