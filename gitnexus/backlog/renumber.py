"""Gives our tasks new numbers where two clones used the same number for different tasks.

A task that the other side published keeps its number. Ours takes the next free one, stores the old number as an alias,
and all references on our side are updated.
"""

from collections.abc import Mapping

from gitnexus.backlog.model import BacklogTask, id_sort_key
from gitnexus.backlog.tasks import Row
from gitnexus.backlog.tombstone import Tombstone

Record = BacklogTask | Tombstone


def record_identity(record: "Row") -> str | None:
    """Return the identity of a task among those of the same id.

    That is its random `uid` or, for a record that somebody wrote by hand, its id and creation time.
    """
    if isinstance(record, BacklogTask):
        return record.uid or f"{record.id} {record.created_at}"
    return record.uid if isinstance(record, Tombstone) else None


def compute_new_ids(mine: Mapping[str, str], theirs: Mapping[str, str], top: int) -> dict[str, str]:
    """Return a new id for each of our records whose id means another task on their side.

    Both arguments map ids to identities of records that differ; `top` is the highest number in use on either side.
    """
    published = {name: task_id for task_id, name in reversed(list(theirs.items()))}
    found, clashing = {}, []
    for task_id, name in mine.items():
        there = published.get(name, task_id)
        if there != task_id and mine.get(there) != name:
            found[task_id] = there  # they know it under another number, from an earlier meeting
        elif theirs.get(task_id, name) != name:
            clashing.append(task_id)
    return found | {one: f"T{top + at}" for at, one in enumerate(sorted(clashing, key=id_sort_key), 1)}


def with_new_ids(record: Record, ids: Mapping[str, str]) -> Record:
    """Return a record with the new ids of tasks of its clone."""
    task_id = ids.get(record.id, record.id)
    if isinstance(record, Tombstone):
        return record.changed(id=task_id)
    return record.changed(
        id=task_id,
        aliases=record.aliases if task_id == record.id else tuple(dict.fromkeys([*record.aliases, record.id])),
        parent_id=ids.get(record.parent_id, record.parent_id) if record.parent_id else None,
        depends=tuple(ids.get(ref, ref) for ref in record.depends),
        relates=tuple(one.changed(task_id=ids.get(one.task_id, one.task_id)) for one in record.relates),
    )
