"""Reads and writes the tasks of a project on the state ref: `backlog/T12.json`, one record each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from gitnexus.backlog.claimant import Claimant
from gitnexus.backlog.decision import BacklogDecision
from gitnexus.backlog.elsewhere import ForeignTasks, NoForeignTasks
from gitnexus.backlog.model import BacklogTask, is_task_id
from gitnexus.backlog.tasks import Row, Tasks
from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.format import new_state_files
from gitnexus.state.intake import settle_hand_edits

if TYPE_CHECKING:
    from gitnexus.backlog.tombstone import Tombstone

FOLDER = "backlog"
_SUFFIX = ".json"
T = TypeVar("T")


class Backlog(ABC):
    """The tasks of one project: read all of them at one moment, or change some in one transaction."""

    def __init__(
        self, claimant: Callable[[], Claimant], elsewhere: ForeignTasks, clock: Callable[[], datetime]
    ) -> None:
        self.claimant = claimant
        self.elsewhere = elsewhere
        self.clock = clock

    @abstractmethod
    def tasks(self) -> Tasks:
        """Return the current tasks."""

    def beside(self, name: str) -> bytes | None:
        """Return a file of the room that is not a record, by its path below the room's folder."""
        return None

    @abstractmethod
    def change(self, decide: Callable[[Tasks], BacklogDecision[T]]) -> T:
        """Write the result of `decide`; it is called again if another process wrote first."""


class NoBacklog(Backlog):
    """The backlog outside of all projects: using it raises an error with the reason."""

    def __init__(self, why: NotFound) -> None:
        super().__init__(self._refuse_claimant, NoForeignTasks(), utc_now)
        self._why = why

    def tasks(self) -> Tasks:
        raise self._why

    def change(self, decide: Callable[[Tasks], BacklogDecision[T]]) -> T:
        raise self._why

    def _refuse_claimant(self) -> Claimant:
        raise self._why


class StateBacklog(Backlog):
    """The backlog on a state ref."""

    def __init__(
        self,
        state: State,
        claimant: Callable[[], Claimant],
        elsewhere: ForeignTasks | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(claimant, elsewhere or NoForeignTasks(), clock)
        self.state = state

    def tasks(self) -> Tasks:
        return tasks_in_snapshot(self.state.latest())

    def beside(self, name: str) -> bytes | None:
        return self.state.latest().read(f"{FOLDER}/{name}")

    def change(self, decide: Callable[[Tasks], BacklogDecision[T]]) -> T:
        begins = not self.state.exists

        def act(snapshot: Snapshot) -> Change[T]:
            tasks = tasks_in_snapshot(snapshot)
            decision = decide(tasks)
            records = [self._bound(one) for one in decision.records]
            files: dict[str, bytes | None] = {task_path(one.id): _record_bytes(tasks, one) for one in records}
            files |= {f"{FOLDER}/{name}": data for name, data in decision.beside.items()}
            if files and snapshot.commit is None:  # an agent's first task, where nobody ran init
                files |= new_state_files("project", self.clock())
            return Change(files, one_line(decision.why), decision.value)

        value = self.state.transact(act)
        if begins and self.state.exists:
            settle_hand_edits(self.state)
        return value

    def _bound(self, record: "BacklogTask | Tombstone") -> "BacklogTask | Tombstone":
        if not isinstance(record, BacklogTask):
            return record
        if not record.uids and not any(":" in ref for ref in record.depends) and not record.relates:
            return record
        from gitnexus.backlog.binding import bound  # only who names tasks of other projects pays

        return bound(record, self.elsewhere)


def _record_bytes(tasks: Tasks, record: "BacklogTask | Tombstone") -> bytes:
    before = tasks.row(record.id)
    if not isinstance(before, BacklogTask) or not isinstance(record, BacklogTask):
        return record.to_bytes()
    from gitnexus.backlog.stamps import with_stamps  # only who changes a task pays

    return json_document(with_stamps(before.plain(), record.plain()))


def task_path(task_id: str) -> str:
    """Return the path of a task's record."""
    return f"{FOLDER}/{task_id}{_SUFFIX}"


def task_id_at(path: str) -> str | None:
    """Return the id of the task at a path of the state, None for any other file."""
    folder, _, name = path.rpartition("/")
    task_id = name.removesuffix(_SUFFIX)
    return task_id if folder == FOLDER and name.endswith(_SUFFIX) and is_task_id(task_id) else None


def tasks_in_snapshot(snapshot: Snapshot) -> Tasks:
    """Return the tasks of one state of a project; each is parsed on first access."""
    named = ((name.removesuffix(_SUFFIX), oid) for name, oid in snapshot.oids(FOLDER).items() if name.endswith(_SUFFIX))
    oids = {task_id: oid for task_id, oid in named if is_task_id(task_id)}
    return Tasks(oids, lambda ids: _read_rows(snapshot, oids, ids))


def parse_task_row(raw: bytes, task_id: str) -> "Row":
    """Return the record in a file, or an error that names the file."""
    path = task_path(task_id)
    try:
        value = parse_json(raw)
        if isinstance(value, dict) and value.get("tombstone") is True:
            from gitnexus.backlog.tombstone import Tombstone  # only where something was deleted

            record: BacklogTask | Tombstone = Tombstone.from_value(value, path)
        else:
            record = BacklogTask.from_value(value, path)
    except Invalid as exc:
        words = exc.message if exc.message.startswith(path) else f"{path} is {exc.message}"
        return Invalid(words, hint=f"git nexus log {path} shows who wrote it")
    if record.id != task_id:
        return Invalid(f"{path}: id should be {task_id}, the name of the file")
    return record


def _read_rows(snapshot: Snapshot, oids: Mapping[str, str], ids: Sequence[str]) -> "list[Row]":
    blobs = snapshot.blobs_or_none([oids[one] for one in ids])
    return [
        parse_task_row(raw, one) if raw is not None else _unreadable(one) for one, raw in zip(ids, blobs, strict=True)
    ]


def _unreadable(task_id: str) -> Invalid:
    return Invalid(
        f"{task_path(task_id)} is missing or damaged in git", hint="git nexus doctor --fix repairs what it can"
    )
