"""Look at tasks: one with all that matters about it, or many as a tree."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from gitnexus.backlog.elsewhere import Elsewhere
from gitnexus.backlog.hierarchy import below
from gitnexus.backlog.model import OPEN, BacklogTask
from gitnexus.backlog.standing import Wait, open_children, waits
from gitnexus.backlog.tasks import Tasks


class View(NamedTuple):
    """A task as it stands: what it waits for, whether it is free to be started, who has it, and how deep it lies."""

    task: BacklogTask
    waits: list[Wait]
    ready: bool
    holder: str | None
    depth: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the task's own fields with those that were found out."""
        return {**self.task.shown(), "ready": self.ready, "blocked": self.blocked}

    @property
    def blocked(self) -> bool:
        """True while something it depends on is not done, or somebody marked it so."""
        return bool(self.waits) or self.task.status == "blocked"


class Filter(NamedTuple):
    """Which tasks to list: all that are open, if nothing is said."""

    statuses: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    parent: str | None = None
    ready: bool = False
    closed_too: bool = False

    def admits(self, view: View) -> bool:
        """True if a task is wanted."""
        wanted = self.statuses or (() if self.closed_too else OPEN)
        return (
            (not wanted or view.task.status in wanted)
            and set(self.labels) <= set(view.task.labels)
            and (view.ready or not self.ready)
        )


def view(task: BacklogTask, tasks: Tasks, now: datetime, elsewhere: Elsewhere) -> View:
    """Return a task as it stands."""
    waiting = waits(task, tasks, elsewhere)
    holder = task.held_by(now) if task.is_open else None
    startable = task.status in ("pending", "active") and not waiting and not open_children(task.id, tasks)
    return View(task, waiting, startable and holder is None, holder)


def detail(task: BacklogTask, tasks: Tasks, now: datetime, elsewhere: Elsewhere) -> tuple[View, dict[str, Any]]:
    """Return a task as it stands, and the same for JSON with who is around it."""
    found = view(task, tasks, now, elsewhere)
    around = {
        "waitsFor": [{"ref": wait.ref, "status": wait.status, "why": wait.why} for wait in found.waits],
        "children": [child.id for child in tasks.children(task.id)],
        "dependents": [other.id for other in tasks.dependents(task.id)],
    }
    return found, {**found.plain(), **around}


def listing(tasks: Tasks, wanted: Filter, now: datetime, elsewhere: Elsewhere) -> list[View]:
    """Return the wanted tasks as a tree: below its parent if that is listed too, else at the left. Raises: NotFound."""
    among: Iterable[BacklogTask] = tasks
    if wanted.parent is not None:
        among = below(tasks.task(wanted.parent).id, tasks)
    views = (view(task, tasks, now, elsewhere) for task in among)
    return list(_tree({found.task.id: found for found in views if wanted.admits(found)}))


def _tree(views: dict[str, View]) -> Iterator[View]:
    under: dict[str | None, list[View]] = {}
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
