"""`git nexus task list`: list the tasks that are open, as a tree."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gitnexus.backlog.cleo_offer import offer_import
from gitnexus.backlog.show import TaskListFilter, TaskView, list_task_views
from gitnexus.base.text import one_line
from gitnexus.cli.task.output import format_status, print_broken_tasks
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, format_columns, print_answer, print_note

if TYPE_CHECKING:
    from gitnexus.backlog.tasks import Tasks
    from gitnexus.projects.open_backlog import OpenBacklog

_STATUS = click.Choice(["pending", "active", "blocked", "done", "cancelled"])


@click.command("list", cls=NexusCommand)
@click.option("--status", "statuses", type=_STATUS, multiple=True, help="Only these; may be repeated.")
@click.option("--label", "labels", metavar="WORD", multiple=True, help="Only those that have it; may be repeated.")
@click.option("--parent", metavar="TASK", help="Only those below this task.")
@click.option("--ready", is_flag=True, help="Only those that can be started now.")
@click.option("--all", "closed_too", is_flag=True, help="Also those that are done or cancelled.")
@click.option("-n", "--limit", type=click.IntRange(1), help="How many; on a terminal one screen, else all.")
@with_backlog
def list_tasks(
    opened: "OpenBacklog",
    statuses: tuple[str, ...],
    labels: tuple[str, ...],
    parent: str | None,
    ready: bool,
    closed_too: bool,
    limit: int | None,
) -> None:
    """List the tasks that are open, as a tree."""
    backlog, tasks = opened.backlog, opened.backlog.tasks()
    wanted = TaskListFilter(statuses, labels, opened.local(parent) if parent else None, ready, closed_too)
    found = list_task_views(tasks, wanted, backlog.clock(), backlog.elsewhere)
    print_broken_tasks(tasks)
    if opened.nexus is not None and not tasks.ids:
        for line in offer_import(opened.nexus.state):
            print_note(line)
    shown = found[:limit]
    print_answer(
        lambda: {"tasks": [opened.named(view.plain()) for view in shown], "total": len(found)},
        lambda: _format_list(found, tasks, limit or _screen_rows(), filtered=wanted != TaskListFilter()),
        lambda: opened.project,
    )


def _screen_rows() -> int | None:
    try:
        return max(5, os.get_terminal_size(sys.stdout.fileno()).lines - 3)
    except (OSError, ValueError):
        return None


def _format_list(found: "Sequence[TaskView]", tasks: "Tasks", limit: int | None, *, filtered: bool) -> str:
    """Return the list with a last line of counts."""
    rows = [_format_row(view) for view in found[:limit]]
    closed = sum(not task.is_open for task in tasks)
    ready = sum(view.ready for view in found)
    none = "no task matches" if filtered else "no task is open"
    said = [f"{count_of(len(found), 'task')}, {ready} ready" if found else none]
    said += [f"{len(found) - len(rows)} more: -n {len(found)} shows them"] if len(found) > len(rows) else []
    said += [f"{closed} closed, --all shows them"] if closed and not filtered else []
    said += ["git nexus task add TITLE adds one"] if not tasks.ids else []
    return "\n".join([*([format_columns(rows, indent="")] if rows else []), "; ".join(said)])


def _format_row(view: "TaskView") -> list[str]:
    task = view.task
    title = "  " * view.depth + one_line(task.title, 80)
    labels = " ".join(one_line(label, 20) for label in task.labels[:4])
    tail = [_format_mark(view), click.style(labels, fg="cyan") if labels else ""]
    return [task.id, format_status(task.status), task.priority, title, "  ".join(filter(None, tail))]


def _format_mark(view: "TaskView") -> str:
    if view.holder is not None:
        return f"claimed by {one_line(view.holder, 30)}"
    if view.waits:
        more = " …" if len(view.waits) > 3 else ""
        return f"waits for {', '.join(one_line(wait.ref, 40) for wait in view.waits[:3])}{more}"
    return click.style("ready", fg="green") if view.ready else ""
