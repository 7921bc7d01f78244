"""The interface to tasks of other projects; a higher room with access to the registry implements it."""

from typing import NamedTuple, Protocol

from gitnexus.backlog.reference import TaskReference


class ForeignTask(NamedTuple):
    """A task of another project as far as it may be read; `why` is the reason if it may not.

    `ref` has its current number, `uid` identifies it whatever its number is.
    """

    ref: str
    title: str | None = None
    status: str | None = None
    why: str | None = None
    uid: str | None = None


class ForeignTasks(Protocol):
    """The interface to tasks of other projects."""

    def own(self, project: str) -> bool:
        """Return True if this word is a name of the current project."""

    def admit_reference(self, reference: TaskReference) -> str:
        """Return the form in which a dependency on that task is stored. Raises: what forbids it (70, 71, 4)."""

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        """Return what is known about a task, found by its `uid` where that is recorded; never raises."""


class NoForeignTasks:
    """For callers without access to other projects: references are kept as given, and block their tasks."""

    def own(self, project: str) -> bool:
        return False

    def admit_reference(self, reference: TaskReference) -> str:
        return str(reference)

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        return ForeignTask(str(reference), why=f"is in the project {reference.project}, which is not looked up here")
