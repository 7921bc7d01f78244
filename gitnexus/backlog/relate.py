"""Adds and removes relations between tasks; a relation makes no task wait."""

from datetime import datetime

from gitnexus.backlog.binding import bound
from gitnexus.backlog.decision import BacklogDecision, revised_task
from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.fields import admit_foreign_references, resolve_dependencies, stored_reference
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.relation import RelationKind, TaskRelation
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import Invalid, NotFound


def relate_tasks(backlog: Backlog, task_id: str, other: str, kind: RelationKind, reason: str | None) -> BacklogTask:
    """Add a relation from a task to another one. Raises: Invalid, NotFound, BadReference."""
    admit_foreign_references([other], backlog.elsewhere)
    return backlog.change(
        lambda tasks: decide_relation(tasks, task_id, other, kind, reason, backlog.clock(), backlog.elsewhere)
    )


def unrelate_tasks(backlog: Backlog, task_id: str, other: str) -> BacklogTask:
    """Remove the relations of a task to another one. Raises: NotFound, BadReference."""
    return backlog.change(
        lambda tasks: decide_relation_removal(tasks, task_id, other, backlog.clock(), backlog.elsewhere)
    )


def decide_relation(
    tasks: Tasks,
    task_id: str,
    other: str,
    kind: RelationKind,
    reason: str | None,
    now: datetime,
    elsewhere: ForeignTasks,
) -> BacklogDecision[BacklogTask]:
    """Return the task with an added relation; an existing one gets the new reason. Raises: Invalid, NotFound."""
    task = bound(tasks.task(task_id), elsewhere)
    target = resolve_dependencies([other], tasks, elsewhere)[0]
    if target == task.id:
        raise Invalid(f"{task.id} cannot be related to itself")
    kept = [relation for relation in task.relates if (relation.task_id, relation.type) != (target, kind)]
    after = revised_task(task, now, relates=(*kept, TaskRelation(task_id=target, type=kind, reason=reason)))
    return BacklogDecision(
        [after] if after is not task else [], f"backlog: relate {task.id} to {target}, {kind}", after
    )


def decide_relation_removal(
    tasks: Tasks, task_id: str, other: str, now: datetime, elsewhere: ForeignTasks
) -> BacklogDecision[BacklogTask]:
    """Return the task without its relations to another one. Raises: NotFound."""
    task = bound(tasks.task(task_id), elsewhere)
    target = stored_reference(other, elsewhere)
    kept = tuple(relation for relation in task.relates if relation.task_id != target)
    if len(kept) == len(task.relates):
        raise NotFound(f"{task.id} is not related to {target}")
    return BacklogDecision(
        [after := revised_task(task, now, relates=kept)], f"backlog: untie {task.id} from {target}", after
    )
