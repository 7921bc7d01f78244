"""`git nexus task update`: change the fields of a task."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.backlog.fields import TaskFields
from gitnexus.backlog.update import update_task
from gitnexus.base.text import one_line
from gitnexus.cli.task.elsewhere import find_tasks_after_closing
from gitnexus.cli.task.options import repeatable_option, with_task_options
from gitnexus.cli.task.output import print_closed_task, print_task
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog

_STATUS = click.Choice(["pending", "active", "blocked", "done", "cancelled"])


@click.command("update", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--title", metavar="TEXT", help="Its new title, in one line.")
@click.option("--status", type=_STATUS, help="Its new status; done and cancelled as with complete and cancel.")
@with_task_options
@click.option("--no-parent", is_flag=True, help="Remove its parent.")
@repeatable_option("--remove-label", "less_labels", "WORD", "A label to remove; may be repeated.")
@repeatable_option("--remove-file", "less_files", "PATH", "A file to remove; may be repeated.")
@repeatable_option("--remove-acceptance", "less_acceptance", "TEXT", "A criterion to remove; may be repeated.")
@repeatable_option("--remove-depends", "less_depends", "REF", "A dependency to remove; may be repeated.")
@with_backlog
def update_backlog_task(opened: "OpenBacklog", /, task: str, no_parent: bool, **given: Any) -> None:
    """Change the fields of a task.

    Texts are replaced; labels, files, acceptance criteria, notes and dependencies are added to the existing ones.
    """
    closing = {"done": "task complete", "cancelled": "task cancel"}  # by whatever word: it needs what these need
    there, task_id = opened.reach_task(task, closing.get(given["status"] or "", "task update"))
    for name in ("depends", "less_depends"):
        given[name] = tuple(opened.seen_from(there, ref) for ref in given[name])
    less = TaskFields.of(
        {name.removeprefix("less_"): value for name, value in given.items() if name.startswith("less_")}
    )
    after = update_task(there.backlog, task_id, TaskFields.of(given), less, to_root=no_parent)
    words = f"{opened.name_task_of(there, after.id)} is {after.status}: {one_line(after.title)}"
    if given["status"] in closing:
        print_closed_task(there, after, words, find_tasks_after_closing(opened, there, [after]))
    else:
        print_task(there, after, words)
