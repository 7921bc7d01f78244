"""`git nexus task add`: add a task."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.backlog.add import add_task
from gitnexus.backlog.fields import TaskFields
from gitnexus.base.text import one_line
from gitnexus.cli.task.options import with_task_options
from gitnexus.cli.task.output import print_task
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("add", cls=NexusCommand)
@click.argument("title")
@with_task_options
@with_backlog
def add_backlog_task(opened: "OpenBacklog", /, **given: Any) -> None:
    """Add a task.

    TITLE is one line of at most 120 characters. The new id is printed; ids are never given twice.
    """
    task = add_task(opened.backlog, TaskFields.of(given))
    print_task(opened, task, f"Added {task.id}: {one_line(task.title)}")
