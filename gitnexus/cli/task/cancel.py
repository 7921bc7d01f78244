"""`git nexus task cancel`: cancel a task; it stays visible."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog.close import cancel_task
from gitnexus.cli.task.elsewhere import find_tasks_after_closing
from gitnexus.cli.task.output import format_waiting
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("cancel", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--children", is_flag=True, help="Also cancel its open subtasks.")
@with_backlog
def cancel_backlog_task(opened: "OpenBacklog", task: str, reason: str | None, children: bool) -> None:
    """Cancel a task; it stays visible.

    What depends on it stays blocked: a cancelled task was not done.
    """
    there, task_id = opened.reach_task(task, "task cancel")
    gone = cancel_task(there.backlog, task_id, reason, with_children=children)
    left = find_tasks_after_closing(opened, there, gone)
    text = f"Cancelled {', '.join(opened.name_task_of(there, one.id) for one in gone)}"
    text += format_waiting(left) if left else ""
    payload = {"cancelled": [one.id for one in gone], "waiting": left}
    answer_as_stored(lambda: {**payload, "task": there.named(gone[0].shown())}, text, lambda: there.project)
