"""Reads the tasks of a CLEO project, a folder with `.cleo/todo.json`. Never writes there."""

import os
import stat
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from gitnexus.backlog.claimant import Claimant, person_claimant
from gitnexus.backlog.elsewhere import ForeignTasks, NoForeignTasks
from gitnexus.backlog.model import OURS, BacklogTask, is_task_id
from gitnexus.backlog.store import Backlog
from gitnexus.backlog.tasks import Row, Tasks
from gitnexus.base.canonical import parse_json
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.state import disk

FOLDER, TODO, ARCHIVE = ".cleo", "todo.json", "todo-archive.json"
_ROWS = {TODO: ("tasks",), ARCHIVE: ("archivedTasks", "tasks")}
_LARGEST = 64 * 1024 * 1024


class CleoDocument(NamedTuple):
    """One of CLEO's files: its bytes, its value, and the key of its tasks."""

    raw: bytes
    value: Mapping[str, Any]
    key: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The tasks as written in the file."""
        found: list[dict[str, Any]] = self.value[self.key]
        return found

    def by_id(self) -> dict[str, dict[str, Any]]:
        """Return the tasks by id."""
        return {row["id"]: row for row in self.rows}


class CleoFolder(Backlog):
    """The backlog of a folder that only CLEO manages."""

    def __init__(
        self, folder: Path, elsewhere: ForeignTasks | None = None, clock: Callable[[], datetime] = utc_now
    ) -> None:
        super().__init__(_nobody_claimant, elsewhere or NoForeignTasks(), clock)
        self.folder = folder

    def tasks(self) -> Tasks:
        return read_cleo_tasks(self.folder)

    def change(self, decide: object) -> NoReturn:
        raise Failed(
            f"{self.folder} is kept by CLEO and only read here",
            hint="git nexus init, then git nexus task import takes its tasks over",
        )


def is_cleo_folder(folder: Path) -> bool:
    """Return True if the folder has CLEO tasks; links are not followed."""
    try:
        kinds = os.lstat(folder / FOLDER).st_mode, os.lstat(folder / FOLDER / TODO).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(kinds[0]) and stat.S_ISREG(kinds[1])


def nearest_cleo_folder(folder: Path) -> Path | None:
    """Return the nearest folder with CLEO tasks, this one or one above it."""
    return next((above for above in (folder, *folder.parents) if is_cleo_folder(above)), None)


def read_cleo_tasks(folder: Path) -> Tasks:
    """Return the tasks of a CLEO folder, archived ones too; tasks that cannot be parsed are listed in `broken`.

    Raises: NotFound, Invalid for a file that cannot be parsed.
    """
    found: dict[str, Row] = {}
    stray: dict[str, str] = {}
    if _read_bytes(folder / FOLDER / TODO) is None:
        raise NotFound(f"there is no {FOLDER}/{TODO} in {folder}")
    for name in (TODO, ARCHIVE):
        path = folder / FOLDER / name
        raw = _read_bytes(path)
        document = _parse_loosely(raw, str(path), archive=name == ARCHIVE) if raw is not None else None
        for at, row in enumerate(document.rows if document is not None else ()):
            read = _parse_row(row, f"{path}: task {at + 1}")
            task_id = row["id"] if isinstance(row, dict) and is_task_id(str(row.get("id"))) else None
            if task_id is not None:
                found.setdefault(task_id, read)  # the list is newer than the archive
            elif isinstance(read, Invalid):
                stray[f"{name} {at + 1}"] = read.message
    return Tasks(found, lambda ids: [found[one] for one in ids], stray)


def cleo_content_hash(folder: Path) -> str:
    """Return a hash of a CLEO folder's content, without its times. Raises: Invalid."""
    import hashlib  # 2 ms, and a command about tasks hashes nothing

    held = [_read_bytes(folder / FOLDER / name) for name in (TODO, ARCHIVE)]
    return "sha256 " + " ".join(hashlib.sha256(raw).hexdigest() if raw is not None else "none" for raw in held)


def load_cleo_document(path: Path) -> CleoDocument | None:
    """Return one of CLEO's files, None if it is missing; links are not followed. Raises: Invalid."""
    raw = _read_bytes(path)
    return None if raw is None else parse_cleo_document(raw, str(path), archive=path.name == ARCHIVE)


def parse_cleo_document(raw: bytes, where: str, *, archive: bool = False) -> CleoDocument:
    """Return the document in a file's bytes. Raises: Invalid unless it is a list of tasks with unique ids."""
    document = _parse_loosely(raw, where, archive=archive)
    seen: set[str] = set()
    for at, row in enumerate(document.rows):
        task = BacklogTask.from_value(row, f"{where}: {document.key}[{at}]")
        if task.id in seen:
            raise Invalid(f"{where}: {task.id} is there twice", hint="it is left as it is")
        seen.add(task.id)
    return document


def _parse_row(value: Any, where: str) -> "Row":
    try:
        return BacklogTask.from_value(without_own_fields(value) if isinstance(value, dict) else value, where)
    except Invalid as exc:
        return exc


def _read_bytes(path: Path) -> bytes | None:
    try:
        held = disk.load_path(path.parent, path.name, _LARGEST)
    except disk.Obstructed as exc:
        raise Invalid(f"{path}: {exc.message}") from exc
    return None if held is None else held[0]


def _parse_loosely(raw: bytes, where: str, *, archive: bool) -> CleoDocument:
    try:
        value = parse_json(raw)
    except Invalid as exc:
        raise Invalid(f"{where} is {exc.message}", hint="it is left as it is") from exc
    keys = _ROWS[ARCHIVE if archive else TODO]
    key = next((key for key in keys if isinstance(value, dict) and isinstance(value.get(key), list)), None)
    if key is None:
        raise Invalid(f"{where} holds no list of {keys[0]}", hint="it is left as it is")
    return CleoDocument(raw, value, key)


def tasks_of_document(document: CleoDocument) -> list[BacklogTask]:
    """Return the tasks of a document without fields that have the name of one of ours."""
    return [BacklogTask.from_value(without_own_fields(row), document.key) for row in document.rows]


def without_own_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task without the fields that only git nexus uses."""
    return {key: value for key, value in row.items() if key not in OURS}


def _nobody_claimant() -> Claimant:
    return person_claimant("nobody")
