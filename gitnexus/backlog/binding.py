"""Binds references to tasks of other projects to their `uid`, and resolves them to the task's current number.

A reference is stored with a number, and a sync in the other project may give that number to another task. So the `uid`
is stored beside it, once, and readers of the reference look for the task with that `uid`.
"""

from collections.abc import Iterable

from gitnexus.backlog.decision import BacklogDecision
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.reference import parse_reference
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import BadReference


def outward(task: BacklogTask) -> list[str]:
    """Return the references of a task to other projects, each once."""
    named = (*task.depends, *(relation.task_id for relation in task.relates))
    return [ref for ref in dict.fromkeys(named) if ":" in ref]


def bound(task: BacklogTask, elsewhere: ForeignTasks) -> BacklogTask:
    """Return a task whose references to other projects have their current numbers, and the `uid` of each."""
    refs = outward(task)
    if not refs and not task.uids:
        return task
    known = task.uids or {}
    names: dict[str, str] = {}
    uids: dict[str, str] = {}
    for ref in refs:
        now, uid = _meant(ref, known.get(ref), elsewhere)
        names[ref] = now
        if uid is not None:
            uids[now] = uid
    return task.changed(
        depends=tuple(dict.fromkeys(names.get(ref, ref) for ref in task.depends)),
        relates=tuple(one.changed(task_id=names.get(one.task_id, one.task_id)) for one in task.relates),
        uids=uids or None,
    )


def rebound(tasks: Tasks, refs: Iterable[str], elsewhere: ForeignTasks) -> BacklogDecision[None]:
    """Return the tasks that refer to one of `refs` without its `uid`, with the `uid` added."""
    wanted = set(refs)
    found = [task for task in tasks if any(ref in wanted and ref not in (task.uids or {}) for ref in outward(task))]
    after = [(task, bound(task, elsewhere)) for task in found]
    records = [new.changed(rev=task.rev + 1) for task, new in after if new != task]
    return BacklogDecision(records, "backlog: note which tasks of other projects are meant", None)


def _meant(ref: str, uid: str | None, elsewhere: ForeignTasks) -> tuple[str, str | None]:
    try:
        reference = parse_reference(ref)
    except BadReference:
        return ref, uid
    if reference.project is None or reference.is_everywhere or elsewhere.own(reference.project):
        return ref, uid
    seen = elsewhere.seen(reference, uid)
    return seen.ref, uid or seen.uid
