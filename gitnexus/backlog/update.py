"""Changes fields of a task."""

from datetime import datetime
from typing import Any

from gitnexus.backlog.add import require_local_id
from gitnexus.backlog.binding import bound
from gitnexus.backlog.close import completed_task, decide_cancellation, with_open_status
from gitnexus.backlog.decision import BacklogDecision, revised_task
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.fields import (
    TaskFields,
    admit_foreign_references,
    edit_list_items,
    require_title,
    resolve_dependencies,
    stored_reference,
)
from gitnexus.backlog.hierarchy import refuse_waiting_cycle, require_allowed_parent
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import Invalid

_PLAIN = ("description", "priority", "type", "phase", "size", "blocked_by")


def update_task(
    backlog: Backlog, task_id: str, more: TaskFields, less: TaskFields | None = None, *, to_root: bool = False
) -> BacklogTask:
    """Set and unset fields of a task. Raises: Invalid, NotFound, BadReference, Cyclic."""
    taken = less or TaskFields()
    admit_foreign_references(more.depends, backlog.elsewhere)
    return backlog.change(
        lambda tasks: decide_update(tasks, task_id, more, taken, backlog.clock(), backlog.elsewhere, to_root=to_root)
    )


def decide_update(
    tasks: Tasks,
    task_id: str,
    more: TaskFields,
    less: TaskFields,
    now: datetime,
    elsewhere: ForeignTasks,
    *,
    to_root: bool = False,
) -> BacklogDecision[BacklogTask]:
    """Return the task with the values of `more` added and those of `less` removed.

    Raises: Invalid, NotFound, BadReference, Cyclic.
    """
    before = bound(tasks.task(task_id), elsewhere)
    status = more.status or ("blocked" if more.blocked_by else before.status)
    fields = _changed_fields(before, more, status) | _changed_lists(before, more, less, tasks, elsewhere)
    if more.parent is not None or to_root:
        fields["parent_id"] = (
            None if to_root else require_allowed_parent(before, require_local_id(more.parent or ""), tasks)
        )
    after = revised_task(before, now, **fields)
    if after.parent_id != before.parent_id or not set(after.depends) <= set(before.depends):
        refuse_waiting_cycle(after, tasks, elsewhere)
    if status != before.status:
        after = _with_status(after, status, tasks, now, elsewhere).changed(rev=before.rev + 1)
    if after == before:
        return BacklogDecision([], "", before)
    return BacklogDecision([after], f"backlog: update {after.id} {after.title}", after)


def _changed_fields(before: BacklogTask, more: TaskFields, status: str) -> dict[str, Any]:
    fields = {name: getattr(more, name) for name in _PLAIN if getattr(more, name) is not None}
    if more.title is not None:
        fields["title"] = require_title(more.title)
    if before.status == "blocked" != status:
        fields.setdefault("blocked_by", None)  # the reason goes with the block
    return fields


def _changed_lists(
    before: BacklogTask, more: TaskFields, less: TaskFields, tasks: Tasks, elsewhere: ForeignTasks
) -> dict[str, tuple[str, ...]]:
    wanted = resolve_dependencies(more.depends, tasks, elsewhere)
    unwanted = [stored_reference(text, elsewhere) for text in less.depends]
    missing = [ref for ref in unwanted if ref not in before.depends]
    if missing:
        raise Invalid(f"{before.id} does not depend on {', '.join(missing)}")
    return {
        "labels": edit_list_items("a label", before.labels, more.labels, less.labels),
        "files": edit_list_items("a file", before.files, more.files, less.files),
        "acceptance": edit_list_items("an acceptance criterion", before.acceptance, more.acceptance, less.acceptance),
        "notes": (*before.notes, *edit_list_items("a note", (), more.notes)),
        "depends": edit_list_items("a dependency", before.depends, wanted, unwanted),
    }


def _with_status(task: BacklogTask, status: str, tasks: Tasks, now: datetime, elsewhere: ForeignTasks) -> BacklogTask:
    present = tasks.with_rows([task])
    if status == "done":
        return completed_task(task, present, now, elsewhere)
    if status == "cancelled":
        return decide_cancellation(present, task.id, now).value[0]
    if task.parent_id is not None and not task.is_open:
        parent = tasks.find(task.parent_id)
        if parent is not None and not parent.is_open:
            raise Invalid(f"{parent.id} above it is {parent.status}", hint="open that one first")
    return with_open_status(task, status, now)
