"""Builds the views of tasks: one in detail, or many as a tree."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from gitnexus.backlog.binding import bound
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.hierarchy import tasks_below
from gitnexus.backlog.model import OPEN, BacklogTask
from gitnexus.backlog.readiness import OpenDependency, open_children, open_dependencies
from gitnexus.backlog.tasks import Tasks


class TaskView(NamedTuple):
    """A task with its open dependencies, its readiness, its claimant and its depth in the tree."""

    task: BacklogTask
    waits: list[OpenDependency]
    ready: bool
    holder: str | None
    depth: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the task's fields together with the computed ones."""
        return {**self.task.shown(), "ready": self.ready, "blocked": self.blocked}

    @property
    def blocked(self) -> bool:
        """Return True while a dependency is not done, or if the task is marked as blocked."""
        return bool(self.waits) or self.task.status == "blocked"


class TaskListFilter(NamedTuple):
    """Which tasks to list; by default all open ones."""

    statuses: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    parent: str | None = None
    ready: bool = False
    closed_too: bool = False

    def matches_task(self, view: TaskView) -> bool:
        """Return True if the filter selects the task."""
        wanted = self.statuses or (() if self.closed_too else OPEN)
        return (
            (not wanted or view.task.status in wanted)
            and set(self.labels) <= set(view.task.labels)
            and (view.ready or not self.ready)
        )


def task_view(task: BacklogTask, tasks: Tasks, now: datetime, elsewhere: ForeignTasks) -> TaskView:
    """Return the view of a task."""
    task = bound(task, elsewhere) if task.is_open else task
    waiting = open_dependencies(task, tasks, elsewhere)
    holder = task.held_by(now) if task.is_open else None
    startable = task.status in ("pending", "active") and not waiting and not open_children(task.id, tasks)
    return TaskView(task, waiting, startable and holder is None, holder)


def task_detail(
    task: BacklogTask, tasks: Tasks, now: datetime, elsewhere: ForeignTasks
) -> tuple[TaskView, dict[str, Any]]:
    """Return the view of a task, and its JSON with the tasks around it."""
    found = task_view(bound(task, elsewhere), tasks, now, elsewhere)
    around = {
        "waitsFor": [{"ref": wait.ref, "status": wait.status, "why": wait.why} for wait in found.waits],
        "children": [child.id for child in tasks.children(task.id)],
        "dependents": [other.id for other in tasks.dependents(task.id)],
    }
    return found, {**found.plain(), **around}


def list_task_views(tasks: Tasks, wanted: TaskListFilter, now: datetime, elsewhere: ForeignTasks) -> list[TaskView]:
    """Return the selected tasks as a tree: below the parent if that is selected, else at the top. Raises: NotFound."""
    among: Iterable[BacklogTask] = tasks
    if wanted.parent is not None:
        among = tasks_below(tasks.task(wanted.parent).id, tasks)
    views = (task_view(task, tasks, now, elsewhere) for task in among)
    return list(_in_tree_order({found.task.id: found for found in views if wanted.matches_task(found)}))


def _in_tree_order(views: dict[str, TaskView]) -> Iterator[TaskView]:
    under: dict[str | None, list[TaskView]] = {}
    for found in views.values():
        parent = found.task.parent_id
        under.setdefault(parent if parent in views and parent != found.task.id else None, []).append(found)
    stack = [(found, 0) for found in reversed(under.get(None, []))]
    met: set[str] = set()
    while stack:
        found, depth = stack.pop()
        met.add(found.task.id)
        yield found._replace(depth=depth) if depth else found
        stack += [(child, depth + 1) for child in reversed(under.get(found.task.id, []))]
    # Parents in a ring, which only a stranger's hand can have written, hang on nothing.
    yield from (found for one, found in views.items() if one not in met)
