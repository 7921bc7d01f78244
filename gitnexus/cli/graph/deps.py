"""`git nexus deps`: show what a task waits for, in whatever project that is."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.graph.output import format_task_rows, progress_reporter
from gitnexus.projects.graph_json import dependencies_json, locate_readable_task
from gitnexus.projects.operations import Operation
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("deps", cls=NexusCommand)
@click.argument("ref")
@click.option(
    "--global",
    "_everywhere",
    is_flag=True,
    help="Accepted for compatibility: all readable projects are always searched.",
)
@with_standpoint
def show_dependencies(standpoint: "Standpoint", ref: str, _everywhere: bool) -> None:
    """Show what a task waits for, in whatever project that is."""
    at = locate_readable_task(standpoint, ref, Operation.DEPS)
    told = dependencies_json(standpoint, at, progress_reporter())
    tail = one_line(f"Blocked by {', '.join(told['blockedBy'])}", 400) if told["blockedBy"] else ""
    text = format_task_rows(told["dependencies"]) or f"{at.ref} waits for nothing."
    print_answer(told, "\n".join(filter(None, [text, tail])), at.project.described)
