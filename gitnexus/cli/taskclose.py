"""`git nexus task complete`, `cancel` and `delete`."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog


@click.command("complete", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--note", metavar="TEXT", help="What came of it.")
@with_backlog
def complete(opened: "OpenBacklog", task: str, note: str | None) -> None:
    """Complete a task.

    Refused with the list while something that it depends on, or a task below it, is open.
    """
    from gitnexus.backlog.close import complete as completed
    from gitnexus.backlog.close import freed

    opened, task_id = opened.reach(task, "task complete")
    done = completed(opened.backlog, task_id, note)
    ready = [other.id for other in freed(opened.backlog, done)]
    text = f"Completed {done.id}: {one_line(done.title)}" + (f"\nNow ready: {', '.join(ready)}" if ready else "")
    answer(lambda: {"task": opened.named(done.shown()), "nowReady": ready}, text, lambda: opened.project)


@click.command("cancel", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--children", is_flag=True, help="Cancel what is open below it too.")
@with_backlog
def cancel(opened: "OpenBacklog", task: str, reason: str | None, children: bool) -> None:
    """Give a task up; it stays in sight.

    What depends on it stays blocked: a cancelled task was not done.
    """
    from gitnexus.backlog.close import cancel as cancelled
    from gitnexus.backlog.close import stuck

    opened, task_id = opened.reach(task, "task cancel")
    gone = cancelled(opened.backlog, task_id, reason, with_children=children)
    left = [other.id for other in stuck(opened.backlog.tasks(), gone)]
    text = f"Cancelled {', '.join(one.id for one in gone)}"
    text += f"\nStill waiting for it: {', '.join(left)} (drop it with --remove-depends)" if left else ""
    payload = {"cancelled": [one.id for one in gone], "waiting": left}
    answer(lambda: {**payload, "task": opened.named(gone[0].shown())}, text, lambda: opened.project)


@click.command("delete", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--force", is_flag=True, help="Also while other tasks need it: they let go of it.")
@with_backlog
def delete(opened: "OpenBacklog", task: str, force: bool) -> None:
    """Delete a task; its number is not given again.

    Refused while others depend on it or are below it. A small record stays in its place.
    """
    from gitnexus.backlog.delete import delete as deleted

    opened, task_id = opened.reach(task, "task delete")
    before = opened.backlog.tasks().task(task_id)
    freed = [other.id for other in deleted(opened.backlog, task_id, force=force)]
    text = f"Deleted {before.id}: {one_line(before.title)}" + (f"\nLet go of it: {', '.join(freed)}" if freed else "")
    answer({"deleted": before.id, "changed": freed}, text, lambda: opened.project)
