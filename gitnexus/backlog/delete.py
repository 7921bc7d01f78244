"""Deletes a task, and leaves a tombstone so that its number is never used again."""

from datetime import datetime

from gitnexus.backlog.decision import BacklogDecision, revised_task
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Invalid


def delete_task(backlog: Backlog, task_id: str, *, force: bool = False) -> list[BacklogTask]:
    """Delete a task; return the tasks that no longer refer to it. Raises: Invalid, NotFound."""
    return backlog.change(lambda tasks: decide_deletion(tasks, task_id, backlog.clock(), force=force))


def decide_deletion(
    tasks: Tasks, task_id: str, now: datetime, *, force: bool = False
) -> BacklogDecision[list[BacklogTask]]:
    """Return the tombstone and the records that referred to the task. Raises: Invalid while tasks need it, NotFound.

    With `force`, dependencies on it are removed in the same commit. Relations to it are always removed: nothing waits
    for them.
    """
    task = tasks.task(task_id)
    children, dependents = tasks.children(task.id), tasks.dependents(task.id)
    if (children or dependents) and not force:
        named = [f"{other.id} depends on it" for other in dependents]
        named += [f"{child.id} is below it" for child in children]
        raise Invalid(
            f"{task.id} cannot be deleted: {', '.join(named[:8])}" + (" …" if len(named) > 8 else ""),
            hint="with --force they no longer refer to it; git nexus task cancel keeps it visible",
            context={"dependents": [other.id for other in dependents], "children": [child.id for child in children]},
        )
    freed = [
        _without_references(other, task.id, now)
        for other in tasks
        if other.id != task.id and _refers_to(other, task.id)
    ]
    stone = tombstone_for_task(task, now)
    return BacklogDecision([stone, *freed], f"backlog: delete {task.id} {task.title}", freed)


def tombstone_for_task(task: BacklogTask, now: datetime) -> Tombstone:
    """Return the tombstone of a task."""
    return Tombstone(id=task.id, title=task.title, deleted_at=format_timestamp(now), uid=task.uid, rev=task.rev + 1)


def _refers_to(task: BacklogTask, task_id: str) -> bool:
    return (
        task.parent_id == task_id
        or task_id in task.depends
        or any(relation.task_id == task_id for relation in task.relates)
    )


def _without_references(task: BacklogTask, task_id: str, now: datetime) -> BacklogTask:
    return revised_task(
        task,
        now,
        parent_id=None if task.parent_id == task_id else task.parent_id,
        depends=tuple(ref for ref in task.depends if ref != task_id),
        relates=tuple(relation for relation in task.relates if relation.task_id != task_id),
    )
