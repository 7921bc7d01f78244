"""Change what is said about a task."""

from datetime import datetime
from typing import Any

from gitnexus.backlog.add import local
from gitnexus.backlog.close import cancelled, done, opened
from gitnexus.backlog.decision import Decision, touched
from gitnexus.backlog.elsewhere import Elsewhere
from gitnexus.backlog.fields import Fields, as_stored, ask_ahead, dependencies, listed, title_of
from gitnexus.backlog.hierarchy import moved, refuse_cycle
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import Invalid

_PLAIN = ("description", "priority", "type", "phase", "size", "blocked_by")


def update(
    backlog: Backlog, task_id: str, more: Fields, less: Fields | None = None, *, to_root: bool = False
) -> BacklogTask:
    """Say more about a task, or take back what was said. Raises: Invalid, NotFound, BadReference, Cyclic."""
    taken = less or Fields()
    ask_ahead(more.depends, backlog.elsewhere)
    return backlog.change(
        lambda tasks: updated(tasks, task_id, more, taken, backlog.clock(), backlog.elsewhere, to_root=to_root)
    )


def updated(
    tasks: Tasks,
    task_id: str,
    more: Fields,
    less: Fields,
    now: datetime,
    elsewhere: Elsewhere,
    *,
    to_root: bool = False,
) -> Decision[BacklogTask]:
    """Return the task with `more` said and `less` taken back. Raises: Invalid, NotFound, BadReference, Cyclic."""
    before = tasks.task(task_id)
    status = more.status or ("blocked" if more.blocked_by else before.status)
    fields = _plain(before, more, status) | _lists(before, more, less, tasks, elsewhere)
    if more.parent is not None or to_root:
        fields["parent_id"] = None if to_root else moved(before, local(more.parent or ""), tasks)
    after = touched(before, now, **fields)
    if after.parent_id != before.parent_id or not set(after.depends) <= set(before.depends):
        refuse_cycle(after, tasks, elsewhere)
    if status != before.status:
        after = _in_status(after, status, tasks, now, elsewhere).changed(rev=before.rev + 1)
    if after == before:
        return Decision([], "", before)
    return Decision([after], f"backlog: update {after.id} {after.title}", after)


def _plain(before: BacklogTask, more: Fields, status: str) -> dict[str, Any]:
    fields = {name: getattr(more, name) for name in _PLAIN if getattr(more, name) is not None}
    if more.title is not None:
        fields["title"] = title_of(more.title)
    if before.status == "blocked" != status:
        fields.setdefault("blocked_by", None)  # the reason goes with the block
    return fields


def _lists(
    before: BacklogTask, more: Fields, less: Fields, tasks: Tasks, elsewhere: Elsewhere
) -> dict[str, tuple[str, ...]]:
    wanted = dependencies(more.depends, tasks, elsewhere)
    unwanted = [as_stored(text, elsewhere) for text in less.depends]
    missing = [ref for ref in unwanted if ref not in before.depends]
    if missing:
        raise Invalid(f"{before.id} does not depend on {', '.join(missing)}")
    return {
        "labels": listed("a label", before.labels, more.labels, less.labels),
        "files": listed("a file", before.files, more.files, less.files),
        "acceptance": listed("an acceptance criterion", before.acceptance, more.acceptance, less.acceptance),
        "notes": (*before.notes, *listed("a note", (), more.notes)),
        "depends": listed("a dependency", before.depends, wanted, unwanted),
    }


def _in_status(task: BacklogTask, status: str, tasks: Tasks, now: datetime, elsewhere: Elsewhere) -> BacklogTask:
    present = tasks.with_rows([task])
    if status == "done":
        return done(task, present, now, elsewhere)
    if status == "cancelled":
        return cancelled(present, task.id, now).value[0]
    if task.parent_id is not None and not task.is_open:
        parent = tasks.find(task.parent_id)
        if parent is not None and not parent.is_open:
            raise Invalid(f"{parent.id} above it is {parent.status}", hint="open that one first")
    return opened(task, status, now)
