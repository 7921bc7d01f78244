"""Where the tasks of a project are kept: `backlog/T12.json` on the state ref, a record each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from gitnexus.backlog.decision import Decision
from gitnexus.backlog.elsewhere import Elsewhere, Nowhere
from gitnexus.backlog.model import BacklogTask, is_id
from gitnexus.backlog.tasks import Row, Tasks
from gitnexus.backlog.who import Claimant
from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import now
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.state import Change, Snapshot, State
from gitnexus.state.format import new_tree
from gitnexus.state.intake import settle

if TYPE_CHECKING:
    from gitnexus.backlog.tombstone import Tombstone

FOLDER = "backlog"
_SUFFIX = ".json"
T = TypeVar("T")


class Backlog(ABC):
    """The tasks of one project: read them all at one moment, or change some in one transaction."""

    def __init__(self, claimant: Callable[[], Claimant], elsewhere: Elsewhere, clock: Callable[[], datetime]) -> None:
        self.claimant = claimant
        self.elsewhere = elsewhere
        self.clock = clock

    @abstractmethod
    def tasks(self) -> Tasks:
        """Return the tasks as they are now."""

    def beside(self, name: str) -> bytes | None:
        """Return a file of the room that is no record, by its path below it."""
        return None

    @abstractmethod
    def change(self, decide: Callable[[Tasks], Decision[T]]) -> T:
        """Publish what `decide` makes of the tasks; it is asked again if somebody else was first."""


class NoBacklog(Backlog):
    """Outside any project: whoever asks for tasks of one's own is told why there are none."""

    def __init__(self, why: NotFound) -> None:
        super().__init__(self._refused, Nowhere(), now)
        self._why = why

    def tasks(self) -> Tasks:
        raise self._why

    def change(self, decide: Callable[[Tasks], Decision[T]]) -> T:
        raise self._why

    def _refused(self) -> Claimant:
        raise self._why


class StateBacklog(Backlog):
    """The backlog on a state ref."""

    def __init__(
        self,
        state: State,
        claimant: Callable[[], Claimant],
        elsewhere: Elsewhere | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        super().__init__(claimant, elsewhere or Nowhere(), clock)
        self.state = state

    def tasks(self) -> Tasks:
        return tasks_in(self.state.latest())

    def beside(self, name: str) -> bytes | None:
        return self.state.latest().read(f"{FOLDER}/{name}")

    def change(self, decide: Callable[[Tasks], Decision[T]]) -> T:
        begins = not self.state.exists

        def act(snapshot: Snapshot) -> Change[T]:
            tasks = tasks_in(snapshot)
            decision = decide(tasks)
            files: dict[str, bytes | None] = {path_of(one.id): _written(tasks, one) for one in decision.records}
            files |= {f"{FOLDER}/{name}": data for name, data in decision.beside.items()}
            if files and snapshot.commit is None:  # an agent's first task, where nobody ran init
                files |= new_tree("project", self.clock())
            return Change(files, one_line(decision.why), decision.value)

        value = self.state.transact(act)
        if begins and self.state.exists:
            settle(self.state)
        return value


def _written(tasks: Tasks, record: "BacklogTask | Tombstone") -> bytes:
    before = tasks.row(record.id)
    if not isinstance(before, BacklogTask) or not isinstance(record, BacklogTask):
        return record.to_bytes()
    from gitnexus.backlog.stamps import stamped  # only who changes a task pays

    return document(stamped(before.plain(), record.plain()))


def path_of(task_id: str) -> str:
    """Return where a task is kept."""
    return f"{FOLDER}/{task_id}{_SUFFIX}"


def id_at(path: str) -> str | None:
    """Return the id of the task that is kept at a path of the state, None for any other file."""
    folder, _, name = path.rpartition("/")
    task_id = name.removesuffix(_SUFFIX)
    return task_id if folder == FOLDER and name.endswith(_SUFFIX) and is_id(task_id) else None


def tasks_in(snapshot: Snapshot) -> Tasks:
    """Return the tasks of one state of a project, read as they are asked for."""
    named = ((name.removesuffix(_SUFFIX), oid) for name, oid in snapshot.oids(FOLDER).items() if name.endswith(_SUFFIX))
    oids = {task_id: oid for task_id, oid in named if is_id(task_id)}
    return Tasks(oids, lambda ids: _rows(snapshot, oids, ids))


def row_of(raw: bytes, task_id: str) -> "Row":
    """Return the record in a file, or an error that names it."""
    path = path_of(task_id)
    try:
        value = parse(raw)
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


def _rows(snapshot: Snapshot, oids: Mapping[str, str], ids: Sequence[str]) -> "list[Row]":
    blobs = snapshot.blobs([oids[one] for one in ids])
    return [row_of(raw, one) for one, raw in zip(ids, blobs, strict=True)]
