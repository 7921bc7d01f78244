"""`git nexus discover` and `git nexus search`: find tasks in all projects."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import Between, NexusCommand
from gitnexus.ui.output import answer, columns
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint

_METHODS = click.Choice(["auto", "labels", "description", "files", "hierarchy"])
_STATUS = click.Choice(["pending", "active", "blocked", "done", "cancelled"])
_SCOPE = "all projects that may be read, current, or the name of one."


@click.command("discover", cls=NexusCommand)
@click.argument("ref")
@click.option("--method", type=_METHODS, default="auto", show_default=True, help="What tasks are compared by.")
@click.option("--scope", default="all", show_default=True, metavar="WHERE", help=_SCOPE)
@click.option("--threshold", type=Between(0, 1), help="The least score; 0.6 if not said, 0 for hierarchy.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at most.")
@click.option("--context", is_flag=True, help="Let the words of parents count too, half a level.")
@with_standpoint
def discover(
    standpoint: "Standpoint", ref: str, method: str, scope: str, threshold: float | None, limit: int, context: bool
) -> None:
    """Find tasks that are related to one: shared labels, words, files or parents."""
    from gitnexus.app.answers import located
    from gitnexus.app.lookup import Relation, discovered
    from gitnexus.cli.network import progress
    from gitnexus.projects.operations import Operation

    at = located(standpoint, ref, Operation.DISCOVER)
    relation = Relation(method, scope, threshold, limit, context)
    told = discovered(standpoint, at, relation, progress())
    rows = [
        [f"{one['score']:.2f}", one["ref"], one_line(one["title"], 60), one_line(one["reason"], 60)]
        for one in told["results"]
    ]
    none = f"Nothing is related to {at.ref} by {relation.least:g} or more."
    answer(told, columns(rows, indent="") or none, at.project.described)


@click.command("search", cls=NexusCommand)
@click.argument("query", nargs=-1)
@click.option("--scope", default="all", show_default=True, metavar="WHERE", help=_SCOPE)
@click.option("--id", "id_", metavar="REF", help="This id: T12, *:T12, my-api:T12; * within it stands for anything.")
@click.option("--status", "statuses", type=_STATUS, multiple=True, help="Only these; may be repeated.")
@click.option("--label", "labels", metavar="WORD", multiple=True, help="Only those that have it; may be repeated.")
@click.option("--limit", type=click.IntRange(1, 10000), default=20, show_default=True, help="How many at most.")
@with_standpoint
def search(
    standpoint: "Standpoint", query: tuple[str, ...], scope: str, id_: str | None, statuses: tuple[str, ...],
    labels: tuple[str, ...], limit: int,
) -> None:  # fmt: skip
    """Find tasks by the words of id, title, labels and description; * stands for anything."""
    from gitnexus.app.lookup import Sought, searched
    from gitnexus.cli.network import progress

    told = searched(standpoint, Sought(" ".join(query), scope, id_ or "", statuses, labels, limit), progress())
    results, total = told["results"], told["total"]
    lines = columns([[one["ref"], one["status"], one_line(one["title"], 90)] for one in results], indent="")
    more = f"\n… {total - len(results)} more: --limit {total}" if total > len(results) else ""
    answer(told, (lines or "Nothing holds these words.") + more, standpoint.described)
