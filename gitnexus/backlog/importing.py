"""Imports the tasks of CLEO's files in one commit, field by field, so that no local change is lost."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gitnexus.backlog import cleo
from gitnexus.backlog.cleo import CleoDocument
from gitnexus.backlog.decision import BacklogDecision
from gitnexus.backlog.delete import tombstone_for_task
from gitnexus.backlog.fieldmerge import merge_sets
from gitnexus.backlog.model import OURS, BacklogTask
from gitnexus.backlog.stamps import SETS, is_same_value
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Tasks
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Duplicate

# What was last taken over or written, byte for byte: the order of its fields, and its fields that are no task's.
SEEN = "cleo"
Row = Mapping[str, Any]
# When something was changed is no statement that could be lost.
_UNSAID = ("updatedAt",)


class ImportResult(NamedTuple):
    """The result of an import, by ids.

    `added` tasks are new, `updated` ones were changed, `deleted` ones stay deleted here, `gone` ones were deleted in
    the file and now here too. `taken` and `kept` name fields of existing tasks: those taken from the file, and those
    that were changed here and stay. `unread` lists what in the file could not be used.
    """

    added: list[str]
    updated: list[str]
    deleted: list[str]
    gone: list[str]
    taken: dict[str, list[str]]
    kept: dict[str, list[str]]
    unread: list[str]


def import_documents(backlog: Backlog, documents: Sequence[CleoDocument], *, update: bool = False) -> ImportResult:
    """Import documents, the first being `todo.json`. Raises: Duplicate, listing the ids that exist already."""
    names = (cleo.TODO, cleo.ARCHIVE)
    raws = [(name, backlog.beside(f"{SEEN}/{name}")) for name in names]
    seen = [cleo.parse_cleo_document(raw, name, archive=name == cleo.ARCHIVE) for name, raw in raws if raw is not None]
    return backlog.change(lambda tasks: decide_import(tasks, documents, seen, update=update))


def decide_import(
    tasks: Tasks, documents: Sequence[CleoDocument], seen: Sequence[CleoDocument] = (), *, update: bool
) -> BacklogDecision[ImportResult]:
    """Return the records of the documents; `seen` are the files as last read. Raises: Duplicate."""
    result = ImportResult([], [], [], [], {}, {}, [])
    before_there = _rows(seen)
    records: dict[str, BacklogTask | Tombstone] = {}
    for task in (task for document in documents for task in cleo.tasks_of_document(document)):
        before = tasks.row(task.id)
        if task.id in records:
            continue  # in the list and in the archive: the list is the newer one
        result.unread.extend(f"{task.id}: {what}" for what in task.unreadable())
        if isinstance(before, Tombstone):
            result.deleted.append(task.id)
        elif isinstance(before, BacklogTask):
            after = _updated_from_file(before, task, before_there.get(task.id), result)
            if after is not before or not update:
                result.updated.append(task.id)
                records[task.id] = after
        else:
            result.added.append(task.id)
            records[task.id] = task.changed(rev=1, uid=_stable_uid(task))
    if result.updated and not update:
        named = ", ".join(result.updated[:10]) + (" …" if len(result.updated) > 10 else "")
        raise Duplicate(
            f"{len(result.updated)} of these tasks exist already: {named}",
            hint="git nexus task import --update takes their new fields over",
            context={"ids": result.updated},
        )
    if update:
        missing = before_there.keys() - _rows(documents).keys()
        records |= _let_go(tasks.with_rows(records.values()), sorted(missing), before_there, result)
    names = (cleo.TODO, cleo.ARCHIVE)
    beside = {f"{SEEN}/{name}": document.raw for name, document in zip(names, documents, strict=False)}
    count = len(records)
    return BacklogDecision(
        list(records.values()), f"backlog: import {count} task{'' if count == 1 else 's'}", result, beside
    )


def _rows(documents: Sequence[CleoDocument]) -> dict[str, Row]:
    return {
        task_id: cleo.without_own_fields(row)
        for document in reversed(documents)
        for task_id, row in document.by_id().items()
    }


def _updated_from_file(before: BacklogTask, task: BacklogTask, seen: Row | None, result: ImportResult) -> BacklogTask:
    """Return a task with the changes of the file since the last read; fields that were changed here stay.

    A list that both changed gets both additions. Of any other field our value stays, and the result names the field.
    """
    plain = before.plain()
    mine, theirs, was = cleo.without_own_fields(plain), dict(task.unknown), seen or {}
    out = {key: value for key, value in plain.items() if key in OURS}
    for key in dict.fromkeys([*theirs, *mine]):
        ours, there, base = mine.get(key), theirs.get(key), was.get(key)
        if is_same_value(ours, there) or (seen is not None and is_same_value(there, base)):
            value = ours
            if key not in _UNSAID and not is_same_value(ours, there):
                result.kept.setdefault(task.id, []).append(key)
        elif is_same_value(ours, base):
            value = there
            result.taken.setdefault(task.id, []).append(key)
        elif key in SETS and isinstance(ours, list) and isinstance(there, list):
            value = merge_sets(base, ours, there)
            result.taken.setdefault(task.id, []).append(key)
        else:
            value = ours if key not in _UNSAID else max(ours, there, key=str)
            result.kept.setdefault(task.id, []).append(key)
        if value is not None or (key in mine and key in theirs):
            out[key] = value
    after = BacklogTask.from_value(out, task.id)
    return before if is_same_value(out, plain) else after.changed(rev=before.rev + 1)


def _let_go(
    tasks: Tasks, missing: Sequence[str], seen: Mapping[str, Row], result: ImportResult
) -> dict[str, Tombstone]:
    """Return the tombstones of tasks that the file no longer has, unless they were changed or are needed here."""
    found: dict[str, Tombstone] = {}
    for task_id in missing:
        task = tasks.row(task_id)
        if not isinstance(task, BacklogTask):
            continue
        needed = tasks.children(task_id) or tasks.dependents(task_id)
        if needed or not is_same_value(
            _comparable_row(cleo.without_own_fields(task.plain())), _comparable_row(seen[task_id])
        ):
            result.kept.setdefault(task_id, []).append("all of it: the file no longer has it")
            continue
        found[task_id] = tombstone_for_task(task, utc_now())
        result.gone.append(task_id)
    return found


def _comparable_row(row: Row) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _UNSAID}


def _stable_uid(task: BacklogTask) -> str:
    """Return a `uid` that is the same in every clone that imports the same file."""
    return hashlib.sha256(f"{task.id}\n{task.created_at}".encode()).hexdigest()[:16]
