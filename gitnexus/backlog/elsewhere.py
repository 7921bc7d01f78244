"""Tasks of other projects, as seen from this room: it only asks; who knows the registry answers."""

from typing import NamedTuple, Protocol

from gitnexus.backlog.reference import Reference


class Outside(NamedTuple):
    """A task of another project as far as it can be seen; `why` says why it cannot."""

    ref: str
    title: str | None = None
    status: str | None = None
    why: str | None = None


class Elsewhere(Protocol):
    """What the backlog asks about other projects."""

    def own(self, project: str) -> bool:
        """True if this word is a name of the current project."""

    def admitted(self, reference: Reference) -> str:
        """Return how a dependency on that task is stored, asked once. Raises: what forbids it (70, 71, 4)."""

    def seen(self, reference: Reference) -> Outside:
        """Return what is known of that task; never raises."""


class Nowhere:
    """The answer of who knows no other project: references are kept as given, and block what depends on them."""

    def own(self, project: str) -> bool:
        return False

    def admitted(self, reference: Reference) -> str:
        return str(reference)

    def seen(self, reference: Reference) -> Outside:
        return Outside(str(reference), why=f"is in the project {reference.project}, which is not looked up here")
