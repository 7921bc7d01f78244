"""Tells what a task waits for, and whether it can be started now. Pure."""

from typing import NamedTuple

from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.reference import parse_reference
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import BadReference, Invalid


class OpenDependency(NamedTuple):
    """A dependency that is not done: its stored reference, its status if known, and the reason as a sentence."""

    ref: str
    status: str | None
    why: str


def open_dependencies(task: BacklogTask, tasks: Tasks, elsewhere: ForeignTasks) -> list[OpenDependency]:
    """Return the dependencies that keep a task from being done; only the status `done` satisfies one."""
    if not task.is_open:
        return []
    known = task.uids or {}
    found = (_open_dependency(ref, tasks, elsewhere, known.get(ref)) for ref in dict.fromkeys(task.depends))
    return [wait for wait in found if wait is not None]


def open_children(task_id: str, tasks: Tasks) -> list[BacklogTask]:
    """Return the tasks directly below one that are neither done nor cancelled."""
    return [child for child in tasks.children(task_id) if child.is_open]


def is_ready(task: BacklogTask, tasks: Tasks, elsewhere: ForeignTasks) -> bool:
    """Return True if the task can start: pending or active, no open dependency, and no open task below it."""
    return (
        task.status in ("pending", "active")
        and not open_dependencies(task, tasks, elsewhere)
        and not open_children(task.id, tasks)
    )


def local_id_of_reference(ref: str, elsewhere: ForeignTasks) -> str | None:
    """Return the id of a reference to this project, None for another project. Raises: BadReference."""
    reference = parse_reference(ref)
    if reference.project is None or elsewhere.own(reference.project):
        return reference.task
    return None


def _open_dependency(ref: str, tasks: Tasks, elsewhere: ForeignTasks, uid: str | None) -> OpenDependency | None:
    try:
        local = ref if ref in tasks.ids else local_id_of_reference(ref, elsewhere)
    except BadReference:
        return OpenDependency(ref, None, "is not a reference to a task")
    if local is None:
        return _open_foreign_dependency(ref, elsewhere, uid)
    found = tasks.find(local)
    if found is not None:
        return None if found.status == "done" else OpenDependency(ref, found.status, f"is {found.status}")
    row = tasks.row(local)
    if isinstance(row, Invalid):
        return OpenDependency(ref, None, "cannot be read")
    return OpenDependency(ref, None, "was deleted" if row is not None else "does not exist")


def _open_foreign_dependency(ref: str, elsewhere: ForeignTasks, uid: str | None) -> OpenDependency | None:
    found = elsewhere.seen(parse_reference(ref), uid)
    if found.status == "done":
        return None
    return OpenDependency(found.ref, found.status, found.why or f"is {found.status}")
