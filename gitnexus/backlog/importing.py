"""Take the tasks of CLEO's files over, in one commit."""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.backlog import cleo
from gitnexus.backlog.cleo import Document
from gitnexus.backlog.decision import Decision
from gitnexus.backlog.model import OURS, BacklogTask
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.base.canonical import canonical
from gitnexus.base.errors import Duplicate

# What was last taken over or written, byte for byte: the order of its fields, and its fields that are no task's.
SEEN = "cleo"


class Imported(NamedTuple):
    """The ids that came new, that were brought up to date, and that stay deleted."""

    added: list[str]
    updated: list[str]
    deleted: list[str]


def take_over(backlog: Backlog, documents: Sequence[Document], *, update: bool = False) -> Imported:
    """Import documents, the first being `todo.json`. Raises: Duplicate with the list of ids that exist."""
    return backlog.change(lambda tasks: imported(tasks, documents, update=update))


def imported(tasks: Tasks, documents: Sequence[Document], *, update: bool) -> Decision[Imported]:
    """Return the records that the documents make. Raises: Duplicate."""
    result = Imported([], [], [])
    records: dict[str, BacklogTask] = {}
    for task in (task for document in documents for task in cleo.read_tasks(document)):
        before = tasks.row(task.id)
        if task.id in records:
            continue  # in the list and in the archive: the list is the newer one
        if isinstance(before, Tombstone):
            result.deleted.append(task.id)
        elif isinstance(before, BacklogTask):
            after = _over(before, task)
            if after is not before or not update:
                result.updated.append(task.id)
                records[task.id] = after
        else:
            result.added.append(task.id)
            records[task.id] = task.changed(rev=1, uid=_uid(task))
    if result.updated and not update:
        named = ", ".join(result.updated[:10]) + (" …" if len(result.updated) > 10 else "")
        raise Duplicate(
            f"{len(result.updated)} of these tasks exist already: {named}",
            hint="git nexus task import --update takes their new fields over",
            context={"ids": result.updated},
        )
    names = (cleo.TODO, cleo.ARCHIVE)
    beside = {f"{SEEN}/{name}": document.raw for name, document in zip(names, documents, strict=False)}
    count = len(records)
    return Decision(list(records.values()), f"backlog: import {count} task{'' if count == 1 else 's'}", result, beside)


def _over(before: BacklogTask, task: BacklogTask) -> BacklogTask:
    """Return a task as the file has it, with what only we keep about it."""
    ours = {key: value for key, value in before.plain().items() if key in OURS}
    if canonical(cleo.foreign(before.plain())) == canonical(dict(task.unknown)):
        return before
    return BacklogTask.from_value({**task.unknown, **ours}, task.id).changed(rev=before.rev + 1)


def _uid(task: BacklogTask) -> str:
    """Return the same for every clone that takes the same file over."""
    import hashlib

    return hashlib.sha256(f"{task.id}\n{task.created_at}".encode()).hexdigest()[:16]
