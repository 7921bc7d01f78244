"""Reads a task of any project by reference: `my-api:T12`, or `*:T12` for all readable ones."""

from dataclasses import dataclass
from typing import Any

from gitnexus.backlog.reference import TaskReference
from gitnexus.base.errors import NexusError, NotFound
from gitnexus.projects.model import Project
from gitnexus.projects.operations import Operation
from gitnexus.projects.read_task import Reader, TaskGlimpse, read_task
from gitnexus.projects.resolve import LocatedTask
from gitnexus.projects.standpoint import Standpoint


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A task and its project."""

    at: LocatedTask
    task: TaskGlimpse

    def plain(self) -> dict[str, Any]:
        """Return the task's fields with those of its project, which win over fields of the same name."""
        return {
            **self.task.plain(),
            "taskId": self.at.task_id,
            "ref": self.at.ref,
            "project": self.at.project.name,
        }


@dataclass(frozen=True, slots=True)
class FoundTasks:
    """The tasks found, and the projects that could not be read, with the reason."""

    found: tuple[FoundTask, ...]
    skipped: tuple[tuple[Project, str], ...] = ()


def query_tasks(standpoint: Standpoint, reference: TaskReference, read: Reader = read_task) -> FoundTasks:
    """Return every task that a reference matches. Raises: as `query_one_task`."""
    if reference.is_everywhere:
        return query_all_projects(standpoint, reference.task, read)
    return FoundTasks((query_one_task(standpoint, reference, read=read),))


def query_one_task(
    standpoint: Standpoint, reference: TaskReference, operation: Operation = Operation.QUERY, read: Reader = read_task
) -> FoundTask:
    """Return the task that a reference to one project names.

    Raises: ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
    """
    at = standpoint.locate(reference)
    standpoint.require_permission(operation, at.project, at.task)  # before a look: who may not read learns nothing
    task = read(at.project, at.task)
    if task is None:
        raise NotFound(f"{at.project.name} has no task {at.task}", context={"taskId": at.task_id, "ref": at.ref})
    return FoundTask(at, task)


def query_all_projects(standpoint: Standpoint, task: str, read: Reader = read_task) -> FoundTasks:
    """Return the task with an id from every readable project that has it. Raises: NotFound if none has."""
    found: list[FoundTask] = []
    skipped: list[tuple[Project, str]] = []
    projects = standpoint.readable()
    standpoint.permit_operation(Operation.QUERY, projects, task)
    for project in projects:
        try:
            held = read(project, task)
        except NexusError as exc:  # one project that is gone or broken does not hide the others
            skipped.append((project, exc.message))
            continue
        if held is not None:
            found.append(FoundTask(LocatedTask(project, task), held))
    if not found:
        raise NotFound(f"no project that may be read has a task {task}", fix="git nexus project list")
    standpoint.touch(answer.at.project for answer in found)
    return FoundTasks(tuple(found), tuple(skipped))
