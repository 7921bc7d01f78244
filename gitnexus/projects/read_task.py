"""Reads one task of a project from its state ref or from `.cleo/`; writes nothing."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import tasks_in_snapshot
from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import StoredRecord
from gitnexus.git import Repo
from gitnexus.projects.model import Project
from gitnexus.projects.place import open_project_state, project_health
from gitnexus.state import Snapshot, disk

_LARGEST = 64 * 1024 * 1024
_CLEO = ((".cleo/todo.json", "tasks"), (".cleo/todo-archive.json", "archivedTasks"))


class TaskGlimpse(StoredRecord):
    """The common fields of a task; the rest is kept unchanged."""

    id: str
    title: str = ""
    status: str = ""
    uid: str | None = None


Reader = Callable[[Project, str], TaskGlimpse | None]


def read_task(project: Project, task: str) -> TaskGlimpse | None:
    """Return a task of a project, None if it has no such task. Raises: NotFound if the project is missing."""
    repo = _repo_of(project)
    if repo is None:
        return _read_from_folder(Path(project.path), task)
    with contextlib.closing(open_project_state(repo)) as state:
        return _read_glimpse(state.snapshot, task, project)


def find_task(project: Project, task: str, uid: str | None) -> TaskGlimpse | str:
    """Return the task of a project that a stored reference means, or a sentence that says why there is none.

    That is the task with the recorded `uid`, whatever its number is. Without a `uid` it is the task with the number,
    unless another task had that number before. Raises: NotFound if the project is missing, Invalid for a task that
    cannot be parsed.
    """
    repo = _repo_of(project)
    if repo is None:  # CLEO gives no number to another task
        return _read_from_folder(Path(project.path), task) or "does not exist"
    with contextlib.closing(open_project_state(repo)) as state:
        there = _read_glimpse(state.snapshot, task, project)
        if there is not None and (there.uid is None or there.uid == uid):
            return there
        others = _others(state.snapshot, task, uid)
        if uid is not None:
            found = _read_glimpse(state.snapshot, others[0], project) if others else None
            return found or ("no longer exists, another task has its number" if there else "does not exist")
        if others:
            named = " or ".join(f"{project.name}:{one}" for one in [*([task] if there else []), *others])
            return f"may be {named}: a sync renumbered it before its identity was noted"
        return there or "does not exist"


def find_task_by_uid(project: Project, uid: str) -> TaskGlimpse | None:
    """Return the task of a project with a `uid`, whatever its number is. Raises: NotFound if the project is missing."""
    repo = _repo_of(project)
    if repo is None:
        return None
    with contextlib.closing(open_project_state(repo)) as state:
        rows = (row for row in tasks_in_snapshot(state.snapshot) if isinstance(row, BacklogTask))
        found = next((row.id for row in rows if row.uid == uid), None)
        return None if found is None else _read_glimpse(state.snapshot, found, project)


def _others(snapshot: Snapshot, task: str, uid: str | None) -> list[str]:
    """Return the tasks of other numbers with this `uid` or, without one, those that once had this number."""
    rows = (row for row in tasks_in_snapshot(snapshot) if isinstance(row, BacklogTask) and row.id != task)
    return [row.id for row in rows if (row.uid == uid if uid is not None else task in row.aliases)]


def _repo_of(project: Project) -> Repo | None:
    """Return the repository of a project, None for a CLEO folder. Raises: NotFound if the project is missing."""
    how, place = project_health(project)
    if place is None:
        raise NotFound(
            f"{project.name} is registered at {project.path}, and that is {how}",
            hint="git nexus project move sets its new location, git nexus prune removes it",
            fix=f"git nexus project show {project.name}",
        )
    return place.repo


def _read_glimpse(snapshot: Snapshot, task: str, project: Project) -> TaskGlimpse | None:
    raw = snapshot.read(f"backlog/{task}.json")
    where = f"backlog/{task}.json of {project.name}"
    value = None if raw is None else _parse_json(raw, where)
    deleted = isinstance(value, dict) and value.get("tombstone") is True  # what stays of a task is no task
    return None if value is None or deleted else _parse_glimpse(value, where)


def _read_from_folder(folder: Path, task: str) -> TaskGlimpse | None:
    for file, key in _CLEO:
        for row in _read_rows(folder, file, key):
            if isinstance(row, dict) and row.get("id") == task:
                return _parse_glimpse(row, f"{folder / file}: {task}")
    return None


def _read_rows(folder: Path, file: str, key: str) -> list[Any]:
    try:
        held = disk.load_path(folder, file, _LARGEST)
    except disk.Obstructed as exc:
        raise Invalid(f"{folder / file}: {exc.message}") from exc
    value = _parse_json(held[0], str(folder / file)) if held else None
    rows = value.get(key) if isinstance(value, dict) else None
    return rows if isinstance(rows, list) else []


def _parse_json(raw: bytes, where: str) -> Any:
    try:
        return parse_json(raw)
    except Invalid as exc:
        raise Invalid(f"{where} is {exc.message}", hint="it is left as it is; repair it by hand") from exc


def _parse_glimpse(value: Any, where: str) -> TaskGlimpse:
    """Return a task without a title or status of the wrong type: such files exist."""
    if isinstance(value, dict):
        texts = ("title", "status", "uid")
        value = {name: held for name, held in value.items() if name not in texts or isinstance(held, str)}
    return TaskGlimpse.from_value(value, where)
