"""Ask for a task of any project: `my-api:T12`, or `*:T12` for all that may be read."""

from dataclasses import dataclass
from typing import Any

from gitnexus.backlog.reference import Reference, parsed
from gitnexus.base.errors import NexusError, NotFound
from gitnexus.projects.model import Project
from gitnexus.projects.operations import Operation
from gitnexus.projects.peek import Glimpse, Reader, read_task
from gitnexus.projects.resolve import Located
from gitnexus.projects.standpoint import Standpoint


@dataclass(frozen=True, slots=True)
class Answer:
    """A task, and where it is."""

    at: Located
    task: Glimpse

    def plain(self) -> dict[str, Any]:
        """Return the task's fields with the project that answered; ours win over fields of the same name."""
        return {
            **self.task.plain(),
            "taskId": self.at.task_id,
            "ref": self.at.ref,
            "project": self.at.project.name,
        }


@dataclass(frozen=True, slots=True)
class Answers:
    """The tasks that were found, and the projects that could not answer, with the reason."""

    found: tuple[Answer, ...]
    skipped: tuple[tuple[Project, str], ...] = ()


def query(standpoint: Standpoint, reference: Reference, read: Reader = read_task) -> Answers:
    """Return every task that a reference means. Raises: as `one`."""
    if reference.is_everywhere:
        return everywhere(standpoint, reference.task, read)
    return Answers((one(standpoint, reference, read=read),))


def one(
    standpoint: Standpoint, reference: Reference, operation: Operation = Operation.QUERY, read: Reader = read_task
) -> Answer:
    """Return the task that a reference to one project means.

    Raises: ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
    """
    at = standpoint.locate(reference)
    standpoint.require(operation, at.project, at.task)  # before a look: who may not read learns nothing
    task = read(at.project, at.task)
    if task is None:
        raise NotFound(f"{at.project.name} has no task {at.task}", context={"taskId": at.task_id, "ref": at.ref})
    return Answer(at, task)


def everywhere(standpoint: Standpoint, task: str, read: Reader = read_task) -> Answers:
    """Return a task id in every project that may be read and has it. Raises: NotFound if none has."""
    found: list[Answer] = []
    skipped: list[tuple[Project, str]] = []
    projects = standpoint.readable()
    standpoint.permit(Operation.QUERY, projects, task)
    for project in projects:
        try:
            held = read(project, task)
        except NexusError as exc:  # one project that is gone or broken does not hide the others
            skipped.append((project, exc.message))
            continue
        if held is not None:
            found.append(Answer(Located(project, task), held))
    if not found:
        raise NotFound(f"no project that may be read has a task {task}", fix="git nexus project list")
    standpoint.touch(answer.at.project for answer in found)
    return Answers(tuple(found), tuple(skipped))


def resolve_task(standpoint: Standpoint, text: str, read: Reader = read_task) -> str:
    """Return a reference as hash:T1, having seen that the task is there; `*:T1` stays as it is.

    Raises: BadReference, and as `one`.
    """
    reference = parsed(text)
    return str(reference) if reference.is_everywhere else one(standpoint, reference, read=read).at.task_id
