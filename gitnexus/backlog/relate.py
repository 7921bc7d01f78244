"""Tie two tasks together without making one wait for the other."""

from datetime import datetime

from gitnexus.backlog.decision import Decision, touched
from gitnexus.backlog.elsewhere import Elsewhere
from gitnexus.backlog.fields import as_stored, ask_ahead, dependencies
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.relation import Relation, RelationKind
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import Invalid, NotFound


def relate(backlog: Backlog, task_id: str, other: str, kind: RelationKind, reason: str | None) -> BacklogTask:
    """Tie a task to another one. Raises: Invalid, NotFound, BadReference."""
    ask_ahead([other], backlog.elsewhere)
    return backlog.change(
        lambda tasks: related(tasks, task_id, other, kind, reason, backlog.clock(), backlog.elsewhere)
    )


def untie(backlog: Backlog, task_id: str, other: str) -> BacklogTask:
    """Take the relations of a task to another one away. Raises: NotFound, BadReference."""
    return backlog.change(lambda tasks: unrelated(tasks, task_id, other, backlog.clock(), backlog.elsewhere))


def related(
    tasks: Tasks,
    task_id: str,
    other: str,
    kind: RelationKind,
    reason: str | None,
    now: datetime,
    elsewhere: Elsewhere,
) -> Decision[BacklogTask]:
    """Return the task with one more relation; the same again replaces the reason. Raises: Invalid, NotFound."""
    task = tasks.task(task_id)
    target = dependencies([other], tasks, elsewhere)[0]
    if target == task.id:
        raise Invalid(f"{task.id} cannot be related to itself")
    kept = [relation for relation in task.relates if (relation.task_id, relation.type) != (target, kind)]
    after = touched(task, now, relates=(*kept, Relation(task_id=target, type=kind, reason=reason)))
    return Decision([after] if after is not task else [], f"backlog: relate {task.id} to {target}, {kind}", after)


def unrelated(tasks: Tasks, task_id: str, other: str, now: datetime, elsewhere: Elsewhere) -> Decision[BacklogTask]:
    """Return the task without its relations to another. Raises: NotFound."""
    task = tasks.task(task_id)
    target = as_stored(other, elsewhere)
    kept = tuple(relation for relation in task.relates if relation.task_id != target)
    if len(kept) == len(task.relates):
        raise NotFound(f"{task.id} is not related to {target}")
    return Decision([after := touched(task, now, relates=kept)], f"backlog: untie {task.id} from {target}", after)
