"""`git nexus task next`: show what to do next, and why."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import click

from gitnexus.backlog.next import rank_tasks, ranking_as_json
from gitnexus.base.text import one_line
from gitnexus.cli.task.output import print_broken_tasks
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer

if TYPE_CHECKING:
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("next", cls=NexusCommand)
@with_backlog
def show_next_task(opened: "OpenBacklog") -> None:
    """Show what to do next, and why.

    Tasks that you have claimed come first, then ready ones: by priority, then by the longest chain of open tasks that
    wait for it, then by the number of waiting tasks.
    """
    backlog, tasks = opened.backlog, opened.backlog.tasks()
    found = rank_tasks(tasks, lru_cache(lambda: backlog.claimant().name), backlog.clock(), backlog.elsewhere)
    print_broken_tasks(tasks)
    plain = ranking_as_json(found)
    best = plain["task"]
    print_answer(
        lambda: {**plain, "task": opened.named(best) if best else None},
        lambda: _format_choice(plain),
        lambda: opened.project,
    )


def _format_choice(plain: Mapping[str, Any]) -> str:
    """Return what to do next, why, and the alternatives."""
    best = plain["task"]
    if best is None:
        return "\n".join(["Nothing can be started now.", *(f"  {one_line(why)}" for why in plain["why"])])
    lines = [click.style(f"{best['id']}  {one_line(best['title'])}", bold=True)]
    lines += [f"  {why}" for why in plain["why"]]
    lines += ["Then:"] if plain["alternatives"] else []
    lines += [
        f"  {one['id']}  {one_line(one['title'], 80)} ({'; '.join(one['why'][1:])})" for one in plain["alternatives"]
    ]
    return "\n".join([*lines, f"Take it: git nexus task claim {best['id']}"])
