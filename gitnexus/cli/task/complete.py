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

    there, task_id = opened.reach(task, "task complete")
    done = completed(there.backlog, task_id, note)
    ready = [opened.called(there, other.id) for other in freed(there.backlog, done)]
    text = f"Completed {opened.called(there, done.id)}: {one_line(done.title)}" + (
        f"\nNow ready: {', '.join(ready)}" if ready else ""
    )
    answer(lambda: {"task": there.named(done.shown()), "nowReady": ready}, text, lambda: there.project)


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

    there, task_id = opened.reach(task, "task cancel")
    gone = cancelled(there.backlog, task_id, reason, with_children=children)
    left = [opened.called(there, other.id) for other in stuck(there.backlog.tasks(), gone)]
    text = f"Cancelled {', '.join(opened.called(there, one.id) for one in gone)}"
    text += f"\nStill waiting for it: {', '.join(left)} (drop it with --remove-depends)" if left else ""
    payload = {"cancelled": [one.id for one in gone], "waiting": left}
    answer(lambda: {**payload, "task": there.named(gone[0].shown())}, text, lambda: there.project)


@click.command("delete", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@click.option("--force", is_flag=True, help="Also while other tasks need it: they let go of it.")
@with_backlog
def delete(opened: "OpenBacklog", task: str, force: bool) -> None:
    """Delete a task; its number is not given again.

    Refused while others depend on it or are below it. A small record stays in its place.
    """
    from gitnexus.backlog.delete import delete as deleted

    there, task_id = opened.reach(task, "task delete")
    before = there.backlog.tasks().task(task_id)
    freed = [opened.called(there, other.id) for other in deleted(there.backlog, task_id, force=force)]
    text = f"Deleted {opened.called(there, before.id)}: {one_line(before.title)}" + (
        f"\nLet go of it: {', '.join(freed)}" if freed else ""
    )
    answer({"deleted": before.id, "changed": freed}, text, lambda: there.project)
