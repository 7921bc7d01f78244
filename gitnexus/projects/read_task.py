"""One task of a project, read where it lies and never written: from the state ref, or from `.cleo/`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import StoredRecord
from gitnexus.projects.model import Project
from gitnexus.projects.place import health, state_of
from gitnexus.state import disk

_LARGEST = 64 * 1024 * 1024
_CLEO = ((".cleo/todo.json", "tasks"), (".cleo/todo-archive.json", "archivedTasks"))


class Glimpse(StoredRecord):
    """What every task has; the rest is kept as it is."""

    id: str
    title: str = ""
    status: str = ""


Reader = Callable[[Project, str], Glimpse | None]


def read_task(project: Project, task: str) -> Glimpse | None:
    """Return a task of a project, None if it has no such task. Raises: NotFound where the project is gone."""
    how, place = health(project)
    if place is None:
        raise NotFound(
            f"{project.name} is registered at {project.path}, and that is {how}",
            hint="git nexus project move tells where it is now, git nexus prune forgets it",
            fix=f"git nexus project show {project.name}",
        )
    if place.repo is None:
        return _in_folder(Path(project.path), task)
    state = state_of(place.repo)
    try:
        raw = state.read(f"backlog/{task}.json")
    finally:
        state.close()
    where = f"backlog/{task}.json of {project.name}"
    value = None if raw is None else _parsed(raw, where)
    deleted = isinstance(value, dict) and value.get("tombstone") is True  # what stays of a task is no task
    return None if value is None or deleted else _glimpse(value, where)


def _in_folder(folder: Path, task: str) -> Glimpse | None:
    for file, key in _CLEO:
        for row in _rows(folder, file, key):
            if isinstance(row, dict) and row.get("id") == task:
                return _glimpse(row, f"{folder / file}: {task}")
    return None


def _rows(folder: Path, file: str, key: str) -> list[Any]:
    try:
        held = disk.load_path(folder, file, _LARGEST)
    except disk.Obstructed as exc:
        raise Invalid(f"{folder / file}: {exc.message}") from exc
    value = _parsed(held[0], str(folder / file)) if held else None
    rows = value.get(key) if isinstance(value, dict) else None
    return rows if isinstance(rows, list) else []


def _parsed(raw: bytes, where: str) -> Any:
    try:
        return parse(raw)
    except Invalid as exc:
        raise Invalid(f"{where} is {exc.message}", hint="it is left as it is; repair it by hand") from exc


def _glimpse(value: Any, where: str) -> Glimpse:
    """Return a task, a title or status of the wrong kind left out: such files exist in the wild."""
    if isinstance(value, dict):
        value = {name: held for name, held in value.items() if name not in ("title", "status") or isinstance(held, str)}
    return Glimpse.from_value(value, where)
