"""`git nexus task relate`: relate a task to OTHER; neither waits for the other."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.backlog.relate import relate_tasks, unrelate_tasks
from gitnexus.cli.task.output import print_task
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog

_RELATION = click.Choice(["relates-to", "spawned-from", "deferred-to", "supersedes", "duplicates"])


@click.command("relate", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.argument("other", metavar="OTHER")
@click.option("--type", "kind", type=_RELATION, default="relates-to", show_default=True, help="How they are related.")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--remove", is_flag=True, help="Remove the relation.")
@with_backlog
def relate_backlog_tasks(
    opened: "OpenBacklog", task: str, other: str, kind: Any, reason: str | None, remove: bool
) -> None:
    """Relate a task to OTHER; neither waits for the other.

    OTHER may be a task of another project.
    """
    there, task_id = opened.reach_task(task, "task relate")
    other, name = opened.seen_from(there, other), opened.name_task_of(there, task_id)
    if remove:
        print_task(there, unrelate_tasks(there.backlog, task_id, other), f"{name} is no longer related to {other}")
    else:
        print_task(there, relate_tasks(there.backlog, task_id, other, kind, reason), f"{name} {_PHRASES[kind]} {other}")


_PHRASES = {
    "relates-to": "is related to",
    "spawned-from": "came out of",
    "deferred-to": "is deferred to",
    "supersedes": "supersedes",
    "duplicates": "duplicates",
}
