"""Checks parents and children of tasks: at most three levels, no cycle, and no task that waits for a task it blocks."""

from collections.abc import Iterable

from gitnexus.backlog import graph
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.model import BacklogTask, is_task_id
from gitnexus.backlog.readiness import local_id_of_reference
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import BadReference, Invalid

DEEPEST = 3


def require_open_parent(parent_id: str, tasks: Tasks) -> BacklogTask:
    """Return a task that may get another task below it. Raises: NotFound, Invalid."""
    parent = tasks.task(parent_id)
    if not parent.is_open:
        raise Invalid(
            f"{parent.id} is {parent.status}, an open task cannot be put below it",
            hint=f"open it again first: git nexus task update {parent.id} --status pending",
        )
    if depth_of_task(parent, tasks) >= DEEPEST:
        raise Invalid(
            f"{parent.id} is {DEEPEST} levels deep already, nothing can be put below it",
            hint="choose one of its parents",
        )
    return parent


def require_allowed_parent(task: BacklogTask, parent_id: str | None, tasks: Tasks) -> str | None:
    """Return the parent that a task may move to. Raises: NotFound, Invalid for a cycle or too many levels."""
    if parent_id is None or parent_id == task.parent_id:
        return parent_id
    parent = require_open_parent(parent_id, tasks)
    line = [parent.id, *ancestor_ids(parent, tasks)]
    if task.id in line:
        raise Invalid(
            f"{task.id} cannot be below {parent.id}, which is {'itself' if task.id == parent.id else 'below it'}"
        )
    levels = len(line) + height_of_task(task, tasks)
    if levels > DEEPEST:
        raise Invalid(
            f"below {parent.id} this would be {levels} levels deep, {DEEPEST} are the most",
            hint="move the tasks below it first",
        )
    return parent.id


def ancestor_ids(task: BacklogTask, tasks: Tasks) -> list[str]:
    """Return the ids above a task, the nearest first; stops at a cycle that somebody wrote by hand."""
    found: list[str] = []
    at = task.parent_id
    while at is not None and at != task.id and at not in found:
        found.append(at)
        above = tasks.find(at)
        at = above.parent_id if above is not None else None
    return found


def depth_of_task(task: BacklogTask, tasks: Tasks) -> int:
    """Return the level of a task: 1 without a parent."""
    return 1 + len(ancestor_ids(task, tasks))


def tasks_below(task_id: str, tasks: Tasks) -> list[BacklogTask]:
    """Return every task below a task, parents before children, each once, even if somebody wrote a cycle by hand."""
    found: dict[str, BacklogTask] = {}
    pending = [task_id]
    for at in pending:
        for child in tasks.children(at):
            if child.id not in found and child.id != task_id:
                found[child.id] = child
                pending.append(child.id)
    return list(found.values())


def height_of_task(task: BacklogTask, tasks: Tasks) -> int:
    """Return the number of levels of a task and all tasks below it."""
    level = {task.id: 1}
    for child in tasks_below(task.id, tasks):
        level[child.id] = 1 + level[child.parent_id or task.id]
    return max(level.values())


def refuse_waiting_cycle(task: BacklogTask, tasks: Tasks, elsewhere: ForeignTasks) -> None:
    """Refuse a task that would wait for itself, through dependencies or, as a parent, through its children.

    Raises: Cyclic.
    """

    def waits_for(task_id: str) -> Iterable[str]:
        found = task if task_id == task.id else tasks.find(task_id)
        if found is None:
            return ()
        children = [child.id for child in tasks.children(task_id) if child.id != task.id]
        return [*local_dependencies(found, elsewhere), *children, *([task.id] if task.parent_id == task_id else [])]

    for wanted in waits_for(task.id):
        way = graph.shortest_path(wanted, task.id, waits_for)
        if way is not None:
            raise graph.Cyclic([task.id, *way[:-1]])


def local_dependencies(task: BacklogTask, elsewhere: ForeignTasks) -> list[str]:
    """Return the dependencies of a task that are tasks of this project."""
    found = []
    for ref in dict.fromkeys(task.depends):
        try:
            local = ref if is_task_id(ref) else local_id_of_reference(ref, elsewhere)
        except BadReference:
            continue
        if local is not None:
            found.append(local)
    return found
