"""All tasks of one project as one value. Each task is parsed on first access."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from gitnexus.backlog.model import BacklogTask, id_sort_key, number_of_id
from gitnexus.base.errors import Invalid, NotFound

if TYPE_CHECKING:
    from gitnexus.backlog.tombstone import Tombstone

# What is kept under an id: a task, what stayed of a deleted one, or why it cannot be read.
Row: TypeAlias = "BacklogTask | Tombstone | Invalid"


class Tasks:
    """The records of a backlog by id. Immutable; a decision returns the records that replace some of them."""

    def __init__(
        self,
        ids: Iterable[str],
        load: "Callable[[Sequence[str]], Sequence[Row]]",
        stray: Mapping[str, str] | None = None,
    ) -> None:
        """`load` returns the record of an id, or an error if it cannot be parsed; `stray` are records without an id."""
        self.ids = frozenset(ids)
        self._load = load
        self._stray = stray or {}
        self._rows: dict[str, Row] = {}

    @classmethod
    def of(cls, records: "Iterable[BacklogTask | Tombstone]") -> "Tasks":
        """Return the tasks of given records."""
        rows: dict[str, Row] = {record.id: record for record in records}
        return cls(rows, lambda ids: [rows[one] for one in ids])

    def row(self, task_id: str) -> "Row | None":
        """Return the record under an id, None if there never was one."""
        if task_id not in self.ids:
            return None
        if task_id not in self._rows:
            self._rows[task_id] = self._load([task_id])[0]
        return self._rows[task_id]

    def get(self, task_id: str) -> BacklogTask | None:
        """Return a task, None if it does not exist. Raises: Invalid for a record that cannot be parsed."""
        found = self.row(task_id)
        if isinstance(found, Invalid):
            raise found
        return found if isinstance(found, BacklogTask) else None

    def find(self, task_id: str) -> BacklogTask | None:
        """Return a task by its current or former id, None if there is none that can be parsed."""
        found = self.row(task_id)
        return found if isinstance(found, BacklogTask) else self._by_alias.get(task_id)

    def task(self, task_id: str) -> BacklogTask:
        """Return a task by its current or former id. Raises: NotFound, Invalid."""
        found = self.get(task_id)
        if found is not None:
            return found
        before = self._by_alias.get(task_id)
        if before is not None:
            return before
        if self.row(task_id) is not None:
            raise NotFound(f"{task_id} was deleted", hint=f"git nexus log backlog/{task_id}.json shows when and why")
        raise NotFound(f"no task {task_id}", hint="git nexus task list --all shows them all")

    def once(self, task_id: str) -> BacklogTask | None:
        """Return the task that had an id before a sync renumbered it."""
        return self._by_alias.get(task_id)

    def __iter__(self) -> Iterator[BacklogTask]:
        """Yield every task, by number."""
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def broken(self) -> dict[str, str]:
        """The records that cannot be parsed, with the reason."""
        self._read_all()
        found = {one: row.message for one, row in sorted(self._rows.items()) if isinstance(row, Invalid)}
        return {**found, **self._stray}

    def children(self, task_id: str) -> list[BacklogTask]:
        """Return the tasks directly below a task."""
        return self._children.get(task_id, [])

    def dependents(self, task_id: str) -> list[BacklogTask]:
        """Return the tasks of this project that directly depend on a task."""
        return self._dependents.get(task_id, [])

    def next_id(self) -> str:
        """Return the first id above every id ever used here; deleted tasks leave a tombstone."""
        return f"T{1 + max(map(number_of_id, self.ids), default=0)}"

    def with_rows(self, records: "Iterable[BacklogTask | Tombstone]") -> "Tasks":
        """Return a copy with some records replaced or added."""
        new: dict[str, Row] = {record.id: record for record in records}
        return Tasks(self.ids | new.keys(), lambda ids: [new.get(one) or self._existing_row(one) for one in ids])

    def _existing_row(self, task_id: str) -> "Row":
        found = self.row(task_id)
        return found if found is not None else Invalid(f"{task_id} is gone")

    @cached_property
    def _all(self) -> list[BacklogTask]:
        self._read_all()
        found = [row for row in self._rows.values() if isinstance(row, BacklogTask)]
        return sorted(found, key=lambda task: id_sort_key(task.id))

    @cached_property
    def _by_alias(self) -> dict[str, BacklogTask]:
        return {alias: task for task in self for alias in task.aliases}

    @cached_property
    def _children(self) -> dict[str, list[BacklogTask]]:
        found: dict[str, list[BacklogTask]] = {}
        for task in self:
            if task.parent_id is not None:
                found.setdefault(task.parent_id, []).append(task)
        return found

    @cached_property
    def _dependents(self) -> dict[str, list[BacklogTask]]:
        found: dict[str, list[BacklogTask]] = {}
        for task in self:
            for wanted in dict.fromkeys(task.depends):
                found.setdefault(wanted, []).append(task)
        return found

    def _read_all(self) -> None:
        missing = [one for one in self.ids if one not in self._rows]
        if missing:
            self._rows.update(zip(missing, self._load(missing), strict=True))
