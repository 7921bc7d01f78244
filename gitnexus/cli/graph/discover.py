"""`git nexus discover`: find tasks that are related to one: shared labels, words, files or parents."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.graph.options import SCOPE_HELP
from gitnexus.cli.graph.output import print_left_out, progress_reporter
from gitnexus.projects.graph_json import locate_readable_task
from gitnexus.projects.operations import Operation
from gitnexus.projects.search_json import RelationQuery, discover_tasks
from gitnexus.ui.commands import NexusCommand, NumberRange
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint

_METHODS = click.Choice(["auto", "labels", "description", "files", "hierarchy"])


@click.command("discover", cls=NexusCommand)
@click.argument("ref")
@click.option("--method", type=_METHODS, default="auto", show_default=True, help="What tasks are compared by.")
@click.option("--scope", default="all", show_default=True, metavar="WHERE", help=SCOPE_HELP)
@click.option("--threshold", type=NumberRange(0, 1), help="The lowest score; 0.6 by default, 0 for hierarchy.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at most.")
@click.option("--context", is_flag=True, help="Also count the words of parents, half per level.")
@with_standpoint
def discover_related_tasks(
    standpoint: "Standpoint", ref: str, method: str, scope: str, threshold: float | None, limit: int, context: bool
) -> None:
    """Find tasks that are related to one: shared labels, words, files or parents."""
    at = locate_readable_task(standpoint, ref, Operation.DISCOVER)
    relation = RelationQuery(method, scope, threshold, limit, context)
    told = discover_tasks(standpoint, at, relation, progress_reporter())
    print_left_out(told)
    rows = [
        [f"{one['score']:.2f}", one["ref"], one_line(one["title"], 60), one_line(one["reason"], 60)]
        for one in told["results"]
    ]
    none = f"Nothing is related to {at.ref} by {relation.least:g} or more."
    print_answer(told, format_columns(rows, indent="") or none, at.project.described)
