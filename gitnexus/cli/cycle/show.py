"""`git nexus cycle`: the tasks of this cycle, and its end."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, columns, counted, note
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.app.session import OpenSession

_COLOURS = {"completed": "green", "in_progress": "yellow", "pending": None}


@click.group("cycle", cls=NexusGroup)
def cycle() -> None:
    """One cycle of work: the tasks that came of the plan, and its end.

    Tasks live in this worktree until the cycle is closed; then plan and tasks go into the history, as one commit on
    the state ref.
    """


@cycle.command("show")
@with_session
def show(session: "OpenSession") -> None:
    """Show goal, tasks and what is ready."""
    from gitnexus.cycle import call

    found = call(session, "task_list", {})
    answer(found, _screen(found), session.described)


@cycle.command("close")
@click.option("--refuse-open", is_flag=True, help="Do not close while a task is open.")
@with_session
def close(session: "OpenSession", refuse_open: bool) -> None:
    """Put plan and tasks into the history and begin with an empty session."""
    from gitnexus.app.tools import Desk, call

    found = call(Desk(session), "task_close", {"refuse_open": refuse_open})
    kept = found["archived"]
    text = (
        f"Closed on {one_line(found['branch'])}: {'a plan' if kept['plan'] else 'no plan'}, "
        f"{counted(kept['decisions'], 'decision')}, {counted(kept['tasks'], 'task')}. "
        f"The history holds {counted(found['total_cycles'], 'cycle')}.\n"
        "Look back with: git nexus history"
    )
    if "memoryNotice" in found:
        note(f"no notes were forgotten: {found['memoryNotice']}")
    if "forgotten" in found:
        gone = found["forgotten"]
        text += f"\nForgot {counted(len(gone['notes']), 'note')}: git nexus memory restore --from {gone['commit'][:12]}"
    answer(found, text, session.described)


def _screen(found: Mapping[str, Any]) -> str:
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
    return "\n".join([head, *([columns(rows)] if rows else [])])
