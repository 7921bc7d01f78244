"""Renders CLEO's files with changed tasks laid over the current content, so that only changed fields differ."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Any, NamedTuple

from gitnexus.backlog.cleo import CleoDocument, parse_cleo_document, without_own_fields
from gitnexus.backlog.model import OURS, SCHEMA_ORDER, BacklogTask
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.canonical import canonical_json
from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Conflict

SCHEMA_VERSION = "2.10.0"


class CleoFileVersions(NamedTuple):
    """A file as it is now (or was, when last read), and as it was when last read."""

    there: CleoDocument | None
    seen: CleoDocument | None

    @property
    def document(self) -> CleoDocument | None:
        return self.there or self.seen


def render_cleo_files(
    tasks: Tasks, todo: CleoFileVersions, archive: CleoFileVersions, project: str, now: datetime
) -> tuple[bytes, bytes | None]:
    """Return the content of `todo.json`, and of the archive if there is one."""
    listed = todo.document or parse_cleo_document(_new_todo_file(project, now), "a new file")
    in_list, archived = listed.by_id(), archive.document
    put_away = archived.by_id() if archived is not None else {}
    away = [task for task in tasks if task.id in put_away and task.id not in in_list and not task.is_open]
    ids = {task.id for task in away}
    here = _render_with_tasks(listed, [task for task in tasks if task.id not in ids], now)
    if archived is None:
        return here, None
    return here, _render_with_tasks(archived, away, now, keep=in_list.keys() & put_away.keys())


def refuse_losing_tasks(tasks: Tasks, layouts: Sequence[CleoFileVersions], *, own: bool) -> None:
    """Refuse to overwrite tasks that others added, changed or, in the project's `own` files, deleted since the last
    read.

    Raises: Conflict.
    """
    lost: list[str] = []
    files = [layout.there.by_id() for layout in layouts if layout.there is not None]
    for layout in layouts if own and layouts[0].there is not None else ():
        seen = layout.seen.by_id() if layout.seen is not None else {}
        lost += [one for one in seen if tasks.find(one) is not None and not any(one in rows for rows in files)]
    if lost:
        raise Conflict(
            f"the file no longer has {', '.join(lost[:10])}" + (" …" if len(lost) > 10 else ""),
            hint="git nexus task import --update deletes here what was deleted there; --force writes it again",
            context={"ids": lost},
        )
    for layout in layouts:
        if layout.there is None or (layout.seen is not None and layout.there.raw == layout.seen.raw):
            continue
        seen = layout.seen.by_id() if layout.seen is not None else {}
        for task_id, row in layout.there.by_id().items():
            ours = tasks.find(task_id)
            same = ours is not None and _is_same_json(without_own_fields(row), without_own_fields(ours.plain()))
            if not same and not (task_id in seen and _is_same_json(row, seen[task_id])):
                lost.append(task_id)
    if lost:
        raise Conflict(
            f"the file has tasks that are not known here: {', '.join(lost[:10])}" + (" …" if len(lost) > 10 else ""),
            hint="git nexus task import --update takes it over first; --force writes over it",
            context={"ids": lost},
        )


def _render_with_tasks(
    document: CleoDocument, tasks: Sequence[BacklogTask], now: datetime, keep: Set[str] = frozenset()
) -> bytes:
    """Return the document with these tasks: rows keep their position, fields their order, numbers their notation."""
    wanted = {task.id: task for task in tasks}
    rows: list[Any] = []
    for row in document.rows:
        if row["id"] in keep:
            rows.append(row)
        elif row["id"] in wanted:
            rows.append(_merge_values(row, _cleo_row(wanted.pop(row["id"]), row)))
    rows += [_cleo_row(task, {}) for task in wanted.values()]
    if _is_same_json(rows, document.rows):
        return document.raw
    return _render_json({**document.value, document.key: rows, **_change_stamps(document, rows, now)}, document.raw)


def _cleo_row(task: BacklogTask, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task in CLEO's form; a field of CLEO with the name of one of ours keeps its value."""
    found = without_own_fields(task.plain())
    in_order = {key: found[key] for key in SCHEMA_ORDER if key in found}  # a record is sorted by letters
    return {**in_order, **found, **{key: row[key] for key in OURS if key in row}}


def _merge_values(old: Any, new: Any) -> Any:
    if _is_same_json(old, new):
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        kept = {key: _merge_values(value, new[key]) for key, value in old.items() if key in new}
        return {**kept, **{key: value for key, value in new.items() if key not in old}}
    return new


def _change_stamps(document: CleoDocument, rows: list[Any], now: datetime) -> dict[str, Any]:
    """Return the fields by which CLEO detects a change: the time and, if there is one, its checksum."""
    found: dict[str, Any] = {}
    meta = document.value.get("_meta")
    if "lastUpdated" in document.value:
        found["lastUpdated"] = format_timestamp(now)
    if isinstance(meta, dict) and meta.get("checksum") == _rows_checksum(document.rows):
        found["_meta"] = {**meta, "checksum": _rows_checksum(rows)}
    return found


def _rows_checksum(rows: list[Any]) -> str:
    line = json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n"
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def _render_json(value: Any, like: bytes) -> bytes:
    """Return JSON with the indentation of the file that it replaces."""
    found = re.match(rb"\s*\{\r?\n([ \t]+)", like)
    indent = found[1].decode() if found else None
    separators = (",", ": ") if found else (",", ":")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return text.encode() + (b"\n" if like.endswith(b"\n") else b"")


def _is_same_json(a: Any, b: Any) -> bool:
    return canonical_json(a) == canonical_json(b)


def _new_todo_file(project: str, now: datetime) -> bytes:
    head = {"version": SCHEMA_VERSION, "project": {"name": project, "phases": {}}, "lastUpdated": format_timestamp(now)}
    value = {**head, "_meta": {"checksum": _rows_checksum([]), "configVersion": SCHEMA_VERSION}, "tasks": []}
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"
