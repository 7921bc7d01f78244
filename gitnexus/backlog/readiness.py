"""Where a task stands: what it waits for, and whether somebody could start it now."""

from typing import NamedTuple

from gitnexus.backlog.elsewhere import Elsewhere
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.reference import parsed
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import BadReference, Invalid


class Wait(NamedTuple):
    """One dependency that is not done: its reference as stored, its status if it has one, and the reason in words."""

    ref: str
    status: str | None
    why: str


def waits(task: BacklogTask, tasks: Tasks, elsewhere: Elsewhere) -> list[Wait]:
    """Return the dependencies that keep a task from being done: only `done` satisfies."""
    if not task.is_open:
        return []
    found = (_wait(ref, tasks, elsewhere) for ref in dict.fromkeys(task.depends))
    return [wait for wait in found if wait is not None]


def open_children(task_id: str, tasks: Tasks) -> list[BacklogTask]:
    """Return the tasks directly below one that are neither done nor cancelled."""
    return [child for child in tasks.children(task_id) if child.is_open]


def is_ready(task: BacklogTask, tasks: Tasks, elsewhere: Elsewhere) -> bool:
    """True if it can be started: pending or active, nothing to wait for, and no open task below it."""
    return (
        task.status in ("pending", "active") and not waits(task, tasks, elsewhere) and not open_children(task.id, tasks)
    )


def here(ref: str, elsewhere: Elsewhere) -> str | None:
    """Return the id that a reference means in this project, None if it means another one. Raises: BadReference."""
    reference = parsed(ref)
    if reference.project is None or elsewhere.own(reference.project):
        return reference.task
    return None


def _wait(ref: str, tasks: Tasks, elsewhere: Elsewhere) -> Wait | None:
    try:
        local = ref if ref in tasks.ids else here(ref, elsewhere)
    except BadReference:
        return Wait(ref, None, "is no reference to a task")
    if local is None:
        return _outside(ref, elsewhere)
    found = tasks.find(local)
    if found is not None:
        return None if found.status == "done" else Wait(ref, found.status, f"is {found.status}")
    row = tasks.row(local)
    if isinstance(row, Invalid):
        return Wait(ref, None, "cannot be read")
    return Wait(ref, None, "was deleted" if row is not None else "does not exist")


def _outside(ref: str, elsewhere: Elsewhere) -> Wait | None:
    found = elsewhere.seen(parsed(ref))
    if found.status == "done":
        return None
    return Wait(ref, found.status, found.why or f"is {found.status}")
