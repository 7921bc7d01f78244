"""`git nexus task show`: show a task and what is around it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gitnexus.backlog.show import TaskView, task_detail
from gitnexus.base.text import make_visible, one_line
from gitnexus.cli.task.output import format_status
from gitnexus.ui.backlog import with_backlog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer

if TYPE_CHECKING:
    from gitnexus.backlog import BacklogTask
    from gitnexus.projects.open_backlog import OpenBacklog


@click.command("show", cls=NexusCommand)
@click.argument("task", metavar="TASK")
@with_backlog
def show_task(opened: "OpenBacklog", task: str) -> None:
    """Show a task with its subtasks and dependencies.

    TASK is T12, or name:T12 for a task of another project that may be read from here.
    """
    opened, task_id = opened.reach_task(task, "show")
    backlog, tasks = opened.backlog, opened.backlog.tasks()
    found, plain = task_detail(tasks.task(task_id), tasks, backlog.clock(), backlog.elsewhere)
    print_answer(lambda: opened.named(plain), lambda: _format_sheet(found, plain), lambda: opened.project)


def _format_sheet(view: "TaskView", plain: Mapping[str, Any]) -> str:
    """Return everything about one task as text."""
    task = view.task
    rows = [
        ["status", format_status(task.status) + _describe_readiness(view)],
        ["priority", task.priority],
        ["type", task.type + (f", subtask of {task.parent_id}" if task.parent_id else "")],
        ["labels", _join_lines(task.labels)],
        ["files", _join_lines(task.files)],
        ["depends on", _join_lines(task.depends)],
        ["waits", "; ".join(f"{one_line(wait.ref, 80)} {one_line(wait.why)}" for wait in view.waits)],
        ["subtasks", _join_lines(plain["children"])],
        ["needed by", _join_lines(plain["dependents"])],
        ["related", "; ".join(_format_relation(one) for one in task.relates)],
        ["phase", one_line(task.phase or "")],
        ["size", one_line(task.size or "")],
        [
            "created",
            one_line(task.created_at or "") + _describe_change(task),
        ],
        ["ended", one_line(task.completed_at or task.cancelled_at or "")],
        ["reason", one_line(task.cancellation_reason or "")],
        ["formerly", _join_lines(task.aliases)],
    ]
    parts = [click.style(f"{task.id}  {one_line(task.title)}", bold=True)]
    parts.append(format_columns([row for row in rows if row[1]], indent=""))
    if task.description:
        parts.append("\n" + make_visible(task.description).strip())
    for title, items in (("Done when", task.acceptance), ("Notes", task.notes)):
        if items:
            parts.append(f"\n{title}:\n" + "\n".join(f"- {make_visible(item).strip()}" for item in items))
    return "\n".join(parts)


def _describe_readiness(view: "TaskView") -> str:
    task = view.task
    said = ", ready" if view.ready else ""
    said += f", {one_line(task.blocked_by)}" if task.blocked_by and task.status == "blocked" else ""
    if view.holder is not None and task.claim is not None:
        said += f", claimed by {one_line(view.holder, 60)} until {one_line(task.claim.until, 30)}"
    return said


def _join_lines(items: Sequence[str]) -> str:
    return ", ".join(one_line(item, 120) for item in items)


def _describe_change(task: "BacklogTask") -> str:
    return f", changed {one_line(task.updated_at)}" if task.updated_at and task.updated_at != task.created_at else ""


def _format_relation(one: Any) -> str:
    reason = f" ({one_line(one.reason, 120)})" if one.reason else ""
    return f"{one.type} {one_line(one.task_id, 80)}{reason}"
