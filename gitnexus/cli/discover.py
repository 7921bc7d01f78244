"""`git nexus discover` and `git nexus search`: find tasks in all projects."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.index import Row
    from gitnexus.projects.network import Network
    from gitnexus.projects.standpoint import Standpoint

_METHODS = click.Choice(["auto", "labels", "description", "files", "hierarchy"])
_STATUS = click.Choice(["pending", "active", "blocked", "done", "cancelled"])
_SCOPE = "all projects that may be read, current, or the name of one."


@click.command("discover", cls=NexusCommand)
@click.argument("ref")
@click.option("--method", type=_METHODS, default="auto", show_default=True, help="What tasks are compared by.")
@click.option("--scope", default="all", show_default=True, metavar="WHERE", help=_SCOPE)
@click.option("--threshold", type=click.FloatRange(0, 1), help="The least score; 0.6 if not said, 0 for hierarchy.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at most.")
@click.option("--context", is_flag=True, help="Let the words of parents count too, half a level.")
@with_standpoint
def discover(
    standpoint: "Standpoint", ref: str, method: str, scope: str, threshold: float | None, limit: int, context: bool
) -> None:
    """Find tasks that are related to one: shared labels, words, files or parents."""
    from gitnexus.app.network import with_network
    from gitnexus.cli.network import located, progress
    from gitnexus.projects.discovery import Asked, ranked, related

    at = located(standpoint, ref, "discover")
    within = _within(standpoint, scope)
    least = threshold if threshold is not None else 0.0 if method == "hierarchy" else 0.6

    def look(network: "Network") -> list[dict[str, Any]]:
        row = network.row(at)
        answer = related(network.index, row, Asked(method, least, context))
        return ranked(answer, network.names, lambda one: network.may_read(one) and within(one), limit)

    found = with_network(standpoint, look, progress())
    told = {"taskId": at.task_id, "ref": at.ref, "project": at.project.name, "method": method, "results": found}
    rows = [
        [f"{one['score']:.2f}", one["ref"], one_line(one["title"], 60), one_line(one["reason"], 60)] for one in found
    ]
    answer(told, columns(rows, indent="") or f"Nothing is related to {at.ref} by {least:g} or more.",
           at.project.described)  # fmt: skip


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
    from gitnexus.app.network import with_network
    from gitnexus.base.errors import BadUsage
    from gitnexus.cli.network import progress
    from gitnexus.projects.finding import found, result

    if not query and not (id_ or statuses or labels):
        raise BadUsage("say what to search for", hint="words, or --id, --status, --label")
    name, _, wanted = (id_ or "").rpartition(":")
    within = _within(standpoint, scope if name in ("", "*") else "current" if name == "." else name)

    def look(network: "Network") -> tuple[int, list[dict[str, Any]]]:
        def keep(row: "Row") -> bool:
            return (
                network.may_read(row.project) and row.project in network.names and within(row.project)
                and (not statuses or row.status in statuses) and set(labels) <= row.labels
                and (not wanted or _matches(wanted, row.id))
            )  # fmt: skip

        rows = found(network.index, " ".join(query) or wanted or "*", keep, anything=not query)
        rows.sort(key=lambda pair: (-pair[0], network.names[pair[1].project], pair[1].number, pair[1].id))
        return len(rows), [result(score, row, network.names) for score, row in rows[:limit]]

    total, results = with_network(standpoint, look, progress())
    lines = columns([[one["ref"], one["status"], one_line(one["title"], 90)] for one in results], indent="")
    more = f"\n… {total - len(results)} more: --limit {total}" if total > len(results) else ""
    answer({"results": results, "total": total}, (lines or "Nothing holds these words.") + more, standpoint.described)


def _within(standpoint: "Standpoint", scope: str) -> Any:
    """Return which projects a scope means. Raises: ProjectNotFound, PermissionDenied, NotFound."""
    if scope == "all":
        return lambda project: True
    from gitnexus.projects.operations import Operation

    wanted = standpoint.find("." if scope == "current" else scope)
    standpoint.require(Operation.SEARCH, wanted)
    return lambda project: project == wanted.hash


def _matches(pattern: str, id_: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(id_, pattern.replace("[", "[[]"))
