"""The backlog of another project, opened for one operation that was permitted and written down."""

import contextlib
from pathlib import Path

from gitnexus.app.backlog import OpenBacklog, open_backlog
from gitnexus.app.standpoint import open_standpoint
from gitnexus.backlog.reference import Reference
from gitnexus.base.errors import NotFound
from gitnexus.projects.operations import Operation
from gitnexus.projects.place import health


def task_of_a_run(start: Path, text: str) -> str:
    """Return the task that a run is for as people here call it; it is there, and permitted.

    Raises: BadReference, Invalid, ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
    """
    with contextlib.closing(open_backlog(start)) as opened:
        there, task = opened.reach(text, Operation.RUN.value)
        return opened.called(there, there.backlog.tasks().task(task).id)


def reached(start: Path, reference: Reference, operation: str) -> tuple[OpenBacklog, str]:
    """Return another project's backlog and the task. Raises: ProjectNotFound, AmbiguousName, PermissionDenied, …"""
    standpoint = open_standpoint(start)
    try:
        at = standpoint.locate(reference)
        how, place = health(at.project)
        standpoint.require(Operation(operation), at.project, at.task)  # before a look: who may not learns nothing
        if place is None:
            raise NotFound(
                f"{at.project.name} is registered at {at.project.path}, and that is {how}",
                hint="git nexus project move tells where it is now, git nexus prune forgets it",
                fix=f"git nexus project show {at.project.name}",
            )
    finally:
        standpoint.close()
    return open_backlog(Path(at.project.path), start), at.task
