"""Completes, cancels and reopens tasks."""

from datetime import datetime

from gitnexus.backlog.decision import BacklogDecision, revised_task
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.hierarchy import tasks_below
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.readiness import is_ready, open_children, open_dependencies
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Invalid


def complete_task(backlog: Backlog, task_id: str, note: str | None = None) -> BacklogTask:
    """Complete a task. Raises: Invalid, listing what is still open, NotFound."""
    return backlog.change(lambda tasks: decide_completion(tasks, task_id, backlog.clock(), backlog.elsewhere, note))


def cancel_task(
    backlog: Backlog, task_id: str, reason: str | None = None, *, with_children: bool = False
) -> list[BacklogTask]:
    """Cancel a task; return it with the tasks below it that were cancelled too. Raises: Invalid, NotFound."""
    return backlog.change(
        lambda tasks: decide_cancellation(tasks, task_id, backlog.clock(), reason, with_children=with_children)
    )


def decide_completion(
    tasks: Tasks, task_id: str, now: datetime, elsewhere: ForeignTasks, note: str | None = None
) -> BacklogDecision[BacklogTask]:
    """Return the completed task. Raises: Invalid, listing what is still open, NotFound."""
    task = tasks.task(task_id)
    after = completed_task(task, tasks, now, elsewhere)
    if note:
        noted = (*task.notes, note)
        after = revised_task(task, now, notes=noted) if after is task else after.changed(notes=noted)
    return BacklogDecision([after] if after is not task else [], f"backlog: complete {task.id} {task.title}", after)


def completed_task(task: BacklogTask, tasks: Tasks, now: datetime, elsewhere: ForeignTasks) -> BacklogTask:
    """Return a completed copy of a task, or the task itself if it is done. Raises: Invalid, listing what is open."""
    if task.status == "done":
        return task
    if task.status == "cancelled":
        raise Invalid(
            f"{task.id} is cancelled", hint=f"open it again: git nexus task update {task.id} --status pending"
        )
    waiting = open_dependencies(task, tasks, elsewhere)
    children = open_children(task.id, tasks)
    if waiting or children:
        open_now = [f"{wait.ref} {wait.why}" for wait in waiting]
        open_now += [f"{child.id} below it is {child.status}" for child in children]
        raise Invalid(
            f"{task.id} cannot be completed: {_join_reasons(open_now)}",
            hint="complete those first, or drop the dependency",
            context={"dependencies": [wait.ref for wait in waiting], "children": [child.id for child in children]},
        )
    return revised_task(task, now, **_closing_fields("done", now))


def decide_cancellation(
    tasks: Tasks, task_id: str, now: datetime, reason: str | None = None, *, with_children: bool = False
) -> BacklogDecision[list[BacklogTask]]:
    """Return the cancelled task and, if requested, the open tasks below it. Raises: Invalid, NotFound."""
    task = tasks.task(task_id)
    if task.status == "done":
        raise Invalid(f"{task.id} is done", hint=f"open it again: git nexus task update {task.id} --status pending")
    under = [child for child in tasks_below(task.id, tasks) if child.is_open]
    if under and not with_children:
        raise Invalid(
            f"{task.id} cannot be cancelled: "
            f"{_join_reasons([f'{child.id} below it is {child.status}' for child in under])}",
            hint="cancel those too with --children, or move them elsewhere",
            context={"children": [child.id for child in under]},
        )
    fields = _closing_fields("cancelled", now) | ({"cancellation_reason": reason} if reason else {})
    after = [revised_task(one, now, **fields) for one in (task, *under) if one.status != "cancelled"]
    return BacklogDecision(after, f"backlog: cancel {task.id} {task.title}", after or [task])


def with_open_status(task: BacklogTask, status: str, now: datetime) -> BacklogTask:
    """Return a task with one of the open statuses, without the times of its end."""
    ended = {"completed_at": None, "cancelled_at": None, "cancellation_reason": None} if not task.is_open else {}
    return revised_task(task, now, status=status, **ended)


def newly_ready_tasks(backlog: Backlog, task: BacklogTask) -> list[BacklogTask]:
    """Return the tasks that can start now that this one is done."""
    tasks = backlog.tasks()
    around = {other.id: other for other in tasks.dependents(task.id)}
    parent = tasks.find(task.parent_id) if task.parent_id else None
    if parent is not None:
        around[parent.id] = parent
    return [other for other in around.values() if is_ready(other, tasks, backlog.elsewhere)]


def stuck_dependents(tasks: Tasks, gone: list[BacklogTask]) -> list[BacklogTask]:
    """Return the open tasks that depend on cancelled ones."""
    ids = {task.id for task in gone}
    found = {other.id: other for one in gone for other in tasks.dependents(one.id)}
    return [other for other in found.values() if other.is_open and other.id not in ids]


def _closing_fields(status: str, now: datetime) -> dict[str, object]:
    other = {"completed_at": format_timestamp(now)} if status == "done" else {"cancelled_at": format_timestamp(now)}
    return {"status": status, "claim": None, **other}


def _join_reasons(reasons: list[str]) -> str:
    more = f" and {len(reasons) - 8} more" if len(reasons) > 8 else ""
    return ", ".join(reasons[:8]) + more
