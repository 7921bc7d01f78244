"""`git nexus task delete`: delete a task; its id is not used again."""

from typing import TYPE_CHECKING

import click

from gitnexus.backlog.delete import delete_task
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.cli.task.elsewhere import find_dependents_elsewhere
from gitnexus.cli.task.output import format_waiting
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("delete", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--force", is_flag=True, help="Even if other tasks refer to it; those references are removed.")
@with_backlog
def delete_backlog_task(opened: "OpenBacklog", task: str, force: bool) -> None:
    """Delete a task; its id is not used again.

    Refused while others depend on it or are below it. A small record stays in its place.
    """
    there, task_id = opened.reach_task(task, "task delete")
    before = there.backlog.tasks().task(task_id)
    left = [one["ref"] for one in find_dependents_elsewhere(opened, there, before.id)]
    if left and not force:
        raise Invalid(
            f"{opened.name_task_of(there, before.id)} cannot be deleted: {', '.join(left[:8])} of other projects "
            f"{'depends' if len(left) == 1 else 'depend'} on it",
            hint="with --force they no longer wait for it; git nexus task cancel keeps it visible",
            context={"dependents": left},
        )
    freed = [opened.name_task_of(there, other.id) for other in delete_task(there.backlog, task_id, force=force)]
    text = f"Deleted {opened.name_task_of(there, before.id)}: {one_line(before.title)}" + (
        f"\nNo longer refer to it: {', '.join(freed)}" if freed else ""
    )
    text += format_waiting(left) if left else ""
    answer_as_stored({"deleted": before.id, "changed": freed, "waiting": left}, text, lambda: there.project)
