"""Add a task."""

from datetime import datetime

from gitnexus.backlog.decision import Decision
from gitnexus.backlog.elsewhere import Elsewhere
from gitnexus.backlog.fields import Fields, ask_ahead, dependencies, listed, title_of
from gitnexus.backlog.hierarchy import parent_for, refuse_cycle
from gitnexus.backlog.model import BacklogTask, Kind
from gitnexus.backlog.reference import one
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base import chance
from gitnexus.base.clock import stamp
from gitnexus.base.errors import Invalid


def add(backlog: Backlog, fields: Fields) -> BacklogTask:
    """Add a task. Raises: Invalid, NotFound, BadReference, Cyclic."""
    uid = chance.token(16)
    ask_ahead(fields.depends, backlog.elsewhere)
    return backlog.change(lambda tasks: added(tasks, fields, backlog.clock(), uid, backlog.elsewhere))


def added(tasks: Tasks, fields: Fields, now: datetime, uid: str, elsewhere: Elsewhere) -> Decision[BacklogTask]:
    """Return the new task under the next free id. Raises: Invalid, NotFound, BadReference, Cyclic."""
    if fields.status in ("done", "cancelled"):
        raise Invalid(f"a new task cannot be {fields.status}")
    parent = parent_for(local(fields.parent), tasks) if fields.parent is not None else None
    task_id = tasks.next_id()
    given = {
        "id": task_id,
        "title": title_of(fields.title),
        "status": fields.status or ("blocked" if fields.blocked_by else "pending"),
        "priority": fields.priority or "medium",
        "type": fields.type or _kind_below(parent),
        "parentId": parent.id if parent else None,
        "description": fields.description,
        "labels": listed("a label", (), fields.labels),
        "files": listed("a file", (), fields.files),
        "acceptance": listed("an acceptance criterion", (), fields.acceptance),
        "notes": listed("a note", (), fields.notes),
        "depends": listed("a dependency", (), dependencies(fields.depends, tasks, elsewhere)),
        "blockedBy": fields.blocked_by,
        "phase": fields.phase,
        "size": fields.size,
        "createdAt": stamp(now),
        "updatedAt": stamp(now),
        "rev": 1,
        "uid": uid,
    }
    kept = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items() if value}
    task = BacklogTask.from_value(kept, task_id)
    if parent is not None and task.depends:  # nothing waits for a new task but its parent
        refuse_cycle(task, tasks, elsewhere)
    return Decision([task], f"backlog: add {task.id} {task.title}", task)


def local(text: str) -> str:
    """Return the id that a reference names in this project. Raises: BadReference, Invalid for another project."""
    reference = one(text)
    if reference.project is not None:
        raise Invalid(f"{text} is a task of another project", hint="a parent is a task of the same project")
    return reference.task


def _kind_below(parent: BacklogTask | None) -> Kind:
    return "task" if parent is None or parent.type == "epic" else "subtask"
