"""`git nexus cycle show`: show goal, tasks and what is ready."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession

_COLOURS = {"completed": "green", "in_progress": "yellow", "pending": None}


@click.command("show", cls=NexusCommand)
@with_session
def show_cycle(session: "OpenSession") -> None:
    """Show goal, tasks and what is ready."""
    found = run_tool(session, "task_list")
    print_answer(found, _format_cycle(found), session.described)


def _format_cycle(found: Mapping[str, Any]) -> str:
    if found.get("exists") is False:
        return "No tasks in this cycle.\nAgents add them with the tool task_add."
    ready = set(found["summary"]["ready"])
    rows = []
    for task in found["tasks"]:
        status = click.style(task["status"], fg=_COLOURS[task["status"]])
        after = f" (after {', '.join(map(str, task['deps']))})" if task["deps"] and task["id"] not in ready else ""
        mark = "ready" if task["id"] in ready else ""
        rows.append([str(task["id"]), status, mark, one_line(task["title"], 90) + after])
    counts = found["summary"]
    head = f"{one_line(found['goal'])} ({counts['completed']} of {counts['total']} tasks completed)"
    return "\n".join([head, *([format_columns(rows)] if rows else [])])
