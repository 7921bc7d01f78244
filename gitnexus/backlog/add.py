"""Adds a task to the backlog."""

from datetime import datetime

from gitnexus.backlog.decision import BacklogDecision
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.fields import (
    TaskFields,
    admit_foreign_references,
    edit_list_items,
    require_title,
    resolve_dependencies,
)
from gitnexus.backlog.hierarchy import refuse_waiting_cycle, require_open_parent
from gitnexus.backlog.model import BacklogTask, Kind
from gitnexus.backlog.reference import parse_single_reference
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base import randomness
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Invalid


def add_task(backlog: Backlog, fields: TaskFields) -> BacklogTask:
    """Add a task. Raises: Invalid, NotFound, BadReference, Cyclic."""
    uid = randomness.random_hex(16)
    admit_foreign_references(fields.depends, backlog.elsewhere)
    return backlog.change(lambda tasks: decide_addition(tasks, fields, backlog.clock(), uid, backlog.elsewhere))


def decide_addition(
    tasks: Tasks, fields: TaskFields, now: datetime, uid: str, elsewhere: ForeignTasks
) -> BacklogDecision[BacklogTask]:
    """Return the new task under the next free id. Raises: Invalid, NotFound, BadReference, Cyclic."""
    if fields.status in ("done", "cancelled"):
        raise Invalid(f"a new task cannot be {fields.status}")
    parent = require_open_parent(require_local_id(fields.parent), tasks) if fields.parent is not None else None
    task_id = tasks.next_id()
    given = {
        "id": task_id,
        "title": require_title(fields.title),
        "status": fields.status or ("blocked" if fields.blocked_by else "pending"),
        "priority": fields.priority or "medium",
        "type": fields.type or _kind_below(parent),
        "parentId": parent.id if parent else None,
        "description": fields.description,
        "labels": edit_list_items("a label", (), fields.labels),
        "files": edit_list_items("a file", (), fields.files),
        "acceptance": edit_list_items("an acceptance criterion", (), fields.acceptance),
        "notes": edit_list_items("a note", (), fields.notes),
        "depends": edit_list_items("a dependency", (), resolve_dependencies(fields.depends, tasks, elsewhere)),
        "blockedBy": fields.blocked_by,
        "phase": fields.phase,
        "size": fields.size,
        "createdAt": format_timestamp(now),
        "updatedAt": format_timestamp(now),
        "rev": 1,
        "uid": uid,
    }
    kept = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items() if value}
    task = BacklogTask.from_value(kept, task_id)
    if parent is not None and task.depends:  # nothing waits for a new task but its parent
        refuse_waiting_cycle(task, tasks, elsewhere)
    return BacklogDecision([task], f"backlog: add {task.id} {task.title}", task)


def require_local_id(text: str) -> str:
    """Return the id that a reference names in this project. Raises: BadReference, Invalid for another project."""
    reference = parse_single_reference(text)
    if reference.project is not None:
        raise Invalid(f"{text} is a task of another project", hint="a parent is a task of the same project")
    return reference.task


def _kind_below(parent: BacklogTask | None) -> Kind:
    return "task" if parent is None or parent.type == "epic" else "subtask"
