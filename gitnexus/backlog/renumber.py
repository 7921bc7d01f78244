"""Two clones that both added a task before they met: both have a T12, and both keep their task.

What the other side published keeps its number. Ours takes the next free one, remembers the old as an alias, and all
that our side says about it follows.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitnexus.backlog.model import BacklogTask, in_order, number_of
from gitnexus.backlog.tasks import Row, Tasks
from gitnexus.backlog.tombstone import Tombstone

Record = BacklogTask | Tombstone


class Renumbered(NamedTuple):
    """Our records as they fit beside theirs, and which id became which."""

    records: list[Record]
    numbers: Mapping[str, str]


def identity(record: "Row") -> str | None:
    """Return what tells one task from another of the same id: made once by chance, or for a record that somebody
    wrote by hand its id and the time it was made."""
    if isinstance(record, BacklogTask):
        return record.uid or f"{record.id} {record.created_at}"
    return record.uid if isinstance(record, Tombstone) else None


def renumbered(theirs: Tasks, ours: Sequence[Record]) -> Renumbered:
    """Return our records, those moved whose id means another task on their side.

    `ours` are the records that our side wrote since both were one: only they can speak of our tasks.
    """
    clashing = []
    for record in ours:
        other = theirs.row(record.id)
        if other is not None and identity(other) != identity(record):
            clashing.append(record.id)
    top = max(map(number_of, theirs.ids | {record.id for record in ours}), default=0)
    numbers = {one: f"T{top + at}" for at, one in enumerate(sorted(clashing, key=in_order), 1)}
    return Renumbered([_moved(record, numbers) for record in ours], numbers)


def _moved(record: Record, numbers: Mapping[str, str]) -> Record:
    task_id = numbers.get(record.id, record.id)
    if isinstance(record, Tombstone):
        return record.changed(id=task_id)
    return record.changed(
        id=task_id,
        aliases=record.aliases if task_id == record.id else tuple(dict.fromkeys([*record.aliases, record.id])),
        parent_id=numbers.get(record.parent_id, record.parent_id) if record.parent_id else None,
        depends=tuple(numbers.get(ref, ref) for ref in record.depends),
        relates=tuple(one.changed(task_id=numbers.get(one.task_id, one.task_id)) for one in record.relates),
    )
