"""`git nexus task complete`: complete a task."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog.close import complete_task
from gitnexus.base.text import one_line
from gitnexus.cli.task.elsewhere import find_tasks_after_closing
from gitnexus.cli.task.output import print_closed_task
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("complete", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--note", metavar="TEXT", help="The result.")
@with_backlog
def complete_backlog_task(opened: "OpenBacklog", task: str, note: str | None) -> None:
    """Complete a task.

    Refused, with a list, while a dependency or a subtask is open.
    """
    there, task_id = opened.reach_task(task, "task complete")
    done = complete_task(there.backlog, task_id, note)
    others = find_tasks_after_closing(opened, there, [done])
    print_closed_task(there, done, f"Completed {opened.name_task_of(there, done.id)}: {one_line(done.title)}", others)
