"""`git nexus task list`, `show` and `next`."""

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

import click

from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, note

if TYPE_CHECKING:
    from gitnexus.app.backlog import OpenBacklog
    from gitnexus.backlog.tasks import Tasks

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
    opened: "OpenBacklog", statuses: tuple[str, ...], labels: tuple[str, ...], parent: str | None,
    ready: bool, closed_too: bool, limit: int | None,
) -> None:  # fmt: skip
    """List the tasks that are open, as a tree."""
    from gitnexus.backlog.look import Filter, listing
    from gitnexus.cli import taskdraw

    backlog, tasks = opened.backlog, opened.backlog.tasks()
    wanted = Filter(statuses, labels, opened.local(parent) if parent else None, ready, closed_too)
    found = listing(tasks, wanted, backlog.clock(), backlog.elsewhere)
    _tell_broken(tasks)
    shown = found[:limit]
    answer(
        lambda: {"tasks": [opened.named(view.plain()) for view in shown], "total": len(found)},
        lambda: taskdraw.screen(found, tasks, limit or _screenful(), filtered=wanted != Filter()),
        lambda: opened.project,
    )


@click.command("show", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@with_backlog
def show(opened: "OpenBacklog", task: str) -> None:
    """Show a task and what is around it.

    TASK is T12, or name:T12 for a task of another project that may be read from here.
    """
    from gitnexus.backlog.look import detail
    from gitnexus.cli import taskdraw

    opened, task_id = opened.reach(task, "show")
    backlog, tasks = opened.backlog, opened.backlog.tasks()
    found, plain = detail(tasks.task(task_id), tasks, backlog.clock(), backlog.elsewhere)
    answer(lambda: opened.named(plain), lambda: taskdraw.sheet(found, plain), lambda: opened.project)


@click.command("next", cls=NexusCommand)
@with_backlog
def next_task(opened: "OpenBacklog") -> None:
    """Tell what to do next, and why.

    What you have claimed comes first, then what is ready: by priority, then by the longest chain of open tasks that
    wait for it, then by how many wait at all.
    """
    from gitnexus.backlog.next import outlook, told
    from gitnexus.cli import taskdraw

    backlog, tasks = opened.backlog, opened.backlog.tasks()
    found = outlook(tasks, lru_cache(lambda: backlog.claimant().name), backlog.clock(), backlog.elsewhere)
    _tell_broken(tasks)
    plain = told(found)
    best = plain["task"]
    answer(
        lambda: {**plain, "task": opened.named(best) if best else None},
        lambda: taskdraw.choice(plain),
        lambda: opened.project,
    )


def _tell_broken(tasks: "Tasks") -> None:
    for why in tasks.broken.values():
        note(f"left out: {why}")


def _screenful() -> int | None:
    try:
        return max(5, os.get_terminal_size(sys.stdout.fileno()).lines - 3)
    except (OSError, ValueError):
        return None
