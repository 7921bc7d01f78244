"""Answers the backlog's questions about other projects from the registry, the permissions and their state."""

import contextlib
from pathlib import Path

from gitnexus.backlog.elsewhere import ForeignTask
from gitnexus.backlog.reference import TaskReference
from gitnexus.base.errors import NexusError, NotFound
from gitnexus.projects.levels import Level
from gitnexus.projects.operations import Operation
from gitnexus.projects.read_task import find_task, find_task_by_uid, read_task
from gitnexus.projects.resolve import LocatedTask
from gitnexus.projects.standpoint import Standpoint


class OtherProjects:
    """Tasks of other projects that the current one may read; each project is opened on first use."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._standpoint: Standpoint | None = None
        self._seen: dict[tuple[str, str | None], ForeignTask] = {}
        self._admitted: dict[str, str] = {}

    @property
    def standpoint(self) -> Standpoint:
        """The standpoint of the project that asks."""
        if self._standpoint is None:
            from gitnexus.projects.open_registry import open_standpoint

            self._standpoint = open_standpoint(self._start)
        return self._standpoint

    def own(self, project: str) -> bool:
        """Return True if this word is a name of the current project."""
        current = self.standpoint.current
        return current is not None and project in (current.name, *current.aliases)

    def admit_reference(self, reference: TaskReference) -> str:
        """Return the form in which a dependency on that task is stored: with the project's own name.

        Raises: ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
        """
        text = str(reference)
        if text not in self._admitted:
            self._admitted[text] = self._admit(reference)
        return self._admitted[text]

    def _admit(self, reference: TaskReference) -> str:
        at = self._locate_task(reference)
        self.standpoint.require_permission(Operation.ADD_DEPENDS, at.project, at.task)
        task = read_task(at.project, at.task)
        if task is None:
            raise NotFound(f"{at.project.name} has no task {at.task}", context={"taskId": at.task_id, "ref": at.ref})
        # Who names a number now means the task that has it now.
        self._seen[at.ref, None] = ForeignTask(at.ref, task.title, task.status, uid=task.uid)
        return at.ref

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        """Return what is known about a task, found by its `uid` where that is recorded; never raises."""
        text = str(reference)
        if (text, uid) not in self._seen:
            self._seen[text, uid] = self._look_up(reference, text, uid)
        return self._seen[text, uid]

    def _look_up(self, reference: TaskReference, text: str, uid: str | None) -> ForeignTask:
        try:
            at = self._locate_task(reference)
            if not self.standpoint.level(at.project).covers(Level.READ):
                return ForeignTask(text, why="may not be read from here")
            task = find_task(at.project, at.task, uid)
        except NexusError as exc:
            return self._by_uid(uid) or ForeignTask(text, why=f"cannot be seen: {exc.message}")
        if isinstance(task, str):
            return self._by_uid(uid) or ForeignTask(text, why=task)
        return ForeignTask(f"{reference.project}:{task.id}", task.title, task.status, uid=task.uid)

    def _by_uid(self, uid: str | None) -> ForeignTask | None:
        """Return the task with a `uid` in any project that may be read: its project may have another name here."""
        if uid is None:
            return None
        try:
            readable = self.standpoint.readable()
        except NexusError:
            return None
        for project in readable:
            if project != self.standpoint.current:
                with contextlib.suppress(NexusError):
                    task = find_task_by_uid(project, uid)
                    if task is not None:
                        return ForeignTask(f"{project.name}:{task.id}", task.title, task.status, uid=uid)
        return None

    def _locate_task(self, reference: TaskReference) -> LocatedTask:
        return self.standpoint.locate(reference)

    def close(self) -> None:
        """Release git resources."""
        if self._standpoint is not None:
            self._standpoint.close()
            self._standpoint = None
