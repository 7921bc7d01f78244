"""The interface to tasks of other projects; a higher room with access to the registry implements it."""

from typing import NamedTuple, Protocol

from gitnexus.backlog.reference import TaskReference


class ForeignTask(NamedTuple):
    """A task of another project as far as it can be seen; `why` says why it cannot.

    `ref` names it by its number of now, `uid` is what it is known by whatever its number.
    """

    ref: str
    title: str | None = None
    status: str | None = None
    why: str | None = None
    uid: str | None = None


class ForeignTasks(Protocol):
    """What the backlog asks about other projects."""

    def own(self, project: str) -> bool:
        """True if this word is a name of the current project."""

    def admit_reference(self, reference: TaskReference) -> str:
        """Return how a dependency on that task is stored, asked once. Raises: what forbids it (70, 71, 4)."""

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        """Return what is known of that task, of the one with this `uid` where that is known; never raises."""


class NoForeignTasks:
    """The answer of who knows no other project: references are kept as given, and block what depends on them."""

    def own(self, project: str) -> bool:
        return False

    def admit_reference(self, reference: TaskReference) -> str:
        return str(reference)

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        return ForeignTask(str(reference), why=f"is in the project {reference.project}, which is not looked up here")
