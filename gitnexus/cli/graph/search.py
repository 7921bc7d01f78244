"""`git nexus search`: find tasks by the words of id, title, labels and description; * matches anything."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.graph.options import SCOPE_HELP
from gitnexus.cli.graph.output import print_left_out, progress_reporter
from gitnexus.projects.search_json import SearchQuery, search_tasks
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint

_STATUS = click.Choice(["pending", "active", "blocked", "done", "cancelled"])


@click.command("search", cls=NexusCommand)
@click.argument("query", nargs=-1)
@click.option("--scope", default="all", show_default=True, metavar="WHERE", help=SCOPE_HELP)
@click.option("--id", "id_", metavar="REF", help="This id: T12, *:T12, my-api:T12; * in it matches anything.")
@click.option("--status", "statuses", type=_STATUS, multiple=True, help="Only these; may be repeated.")
@click.option("--label", "labels", metavar="WORD", multiple=True, help="Only those that have it; may be repeated.")
@click.option("--limit", type=click.IntRange(1, 10000), default=20, show_default=True, help="How many at most.")
@with_standpoint
def search_all_projects(
    standpoint: "Standpoint",
    query: tuple[str, ...],
    scope: str,
    id_: str | None,
    statuses: tuple[str, ...],
    labels: tuple[str, ...],
    limit: int,
) -> None:
    """Find tasks by the words of id, title, labels and description; * matches anything."""
    told = search_tasks(
        standpoint, SearchQuery(" ".join(query), scope, id_ or "", statuses, labels, limit), progress_reporter()
    )
    results, total = told["results"], told["total"]
    lines = format_columns([[one["ref"], one["status"], one_line(one["title"], 90)] for one in results], indent="")
    more = f"\n… {total - len(results)} more: --limit {total}" if total > len(results) else ""
    print_left_out(told)
    print_answer(told, (lines or "Nothing contains these words.") + more, standpoint.described)
