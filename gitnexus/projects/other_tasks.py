"""What the backlog asks about other projects, answered from the registry, the permissions and their own state."""

from pathlib import Path

from gitnexus.backlog.elsewhere import Outside
from gitnexus.backlog.reference import Reference
from gitnexus.base.errors import NexusError, NotFound
from gitnexus.projects.levels import Level
from gitnexus.projects.operations import Operation
from gitnexus.projects.peek import Glimpse, read_task
from gitnexus.projects.resolve import Located
from gitnexus.projects.standpoint import Standpoint


class Projects:
    """Tasks of other projects, as the current one may see them; each project is opened when it is first asked about."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._standpoint: Standpoint | None = None
        self._seen: dict[str, Outside] = {}
        self._admitted: dict[str, str] = {}

    @property
    def standpoint(self) -> Standpoint:
        """Where this is asked from."""
        if self._standpoint is None:
            from gitnexus.app.standpoint import open_standpoint

            self._standpoint = open_standpoint(self._start)
        return self._standpoint

    def own(self, project: str) -> bool:
        """True if this word is a name of the current project."""
        current = self.standpoint.current
        return current is not None and project in (current.name, *current.aliases)

    def admitted(self, reference: Reference) -> str:
        """Return how a dependency on that task is stored: by the project's own name.

        Raises: ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
        """
        text = str(reference)
        if text not in self._admitted:
            self._admitted[text] = self._admit(reference)
        return self._admitted[text]

    def _admit(self, reference: Reference) -> str:
        at = self._located(reference)
        self.standpoint.require(Operation.ADD_DEPENDS, at.project, at.task)
        if read_task(at.project, at.task) is None:
            raise NotFound(f"{at.project.name} has no task {at.task}", context={"taskId": at.task_id, "ref": at.ref})
        return at.ref

    def seen(self, reference: Reference) -> Outside:
        """Return what is known of that task; never raises."""
        text = str(reference)
        if text not in self._seen:
            self._seen[text] = self._look(reference, text)
        return self._seen[text]

    def _look(self, reference: Reference, text: str) -> Outside:
        try:
            at = self._located(reference)
            if not self.standpoint.level(at.project).covers(Level.READ):
                return Outside(text, why="may not be read from here")
            task: Glimpse | None = read_task(at.project, at.task)
        except NexusError as exc:
            return Outside(text, why=f"cannot be seen: {exc.message}")
        return Outside(text, task.title, task.status) if task else Outside(text, why="does not exist")

    def _located(self, reference: Reference) -> Located:
        return self.standpoint.locate(reference)

    def close(self) -> None:
        """Let go of git."""
        if self._standpoint is not None:
            self._standpoint.close()
            self._standpoint = None
