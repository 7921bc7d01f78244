"""Opens the backlog of this project (on the state ref or in CLEO's folder) or, where permitted, of another project."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.backlog import Backlog, StateBacklog, cleo
from gitnexus.backlog.binding import rebound
from gitnexus.backlog.claimant import Claimant, agent_claimant, person_claimant
from gitnexus.backlog.cleo import CleoFolder
from gitnexus.backlog.elsewhere import ForeignTask
from gitnexus.backlog.reference import TaskReference, parse_single_reference
from gitnexus.backlog.store import NoBacklog
from gitnexus.base.errors import Failed, NexusError, NotFound
from gitnexus.git import Repo
from gitnexus.projects.model import real_path
from gitnexus.projects.open_project import Nexus, describe_project_at, open_nexus, own_names
from gitnexus.projects.operations import Operation
from gitnexus.projects.place import project_health
from gitnexus.state import State

if TYPE_CHECKING:
    from gitnexus.projects.other_tasks import OtherProjects


class ProjectNames:
    """The names of a project, and its view of other projects; that view is opened only when it is needed."""

    def __init__(self, repo: Repo, caller: Path | None = None) -> None:
        self._repo = repo
        self._caller = caller or repo.folder
        self._others: OtherProjects | None = None
        self.met: set[str] = set()  # references that were resolved by their number, since nothing else was known

    def own(self, project: str) -> bool:
        return project in self._names

    def admit_reference(self, reference: TaskReference) -> str:
        return self._projects.admit_reference(reference)

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        found = self._projects.seen(reference, uid)
        if uid is None and found.uid is not None:
            self.met.add(str(reference))
        return found

    def close(self) -> None:
        """Release git resources."""
        if self._others is not None:
            self._others.close()

    @property
    def _projects(self) -> "OtherProjects":
        if self._others is None:
            from gitnexus.projects.other_tasks import OtherProjects  # most tasks know nothing of other projects

            self._others = OtherProjects(self._caller)
        return self._others

    @cached_property
    def _names(self) -> frozenset[str]:
        return own_names(self._repo)


@dataclass
class OpenBacklog:
    """The backlog that a command about tasks works with."""

    backlog: Backlog
    describe: Callable[[], dict[str, str]]
    folder: Path
    nexus: Nexus | None = None
    others: "list[OpenBacklog]" = field(default_factory=list)

    @cached_property
    def project(self) -> dict[str, str]:
        """The project's fields for the JSON envelope: name, hash and path."""
        return self.describe()

    def named(self, plain: dict[str, object]) -> dict[str, object]:
        """Return a task as JSON, with the name of its project."""
        project, task_id = self.project, plain["id"]
        whose = {"taskId": f"{project['hash']}:{task_id}", "ref": f"{project['name']}:{task_id}"}
        return {**plain, **whose, "project": project["name"]}

    def local(self, text: str) -> str:
        """Return the id that a reference means in this project. Raises: BadReference, Invalid, Failed."""
        reference = parse_single_reference(text)
        if reference.project is None or self.backlog.elsewhere.own(reference.project):
            return reference.task
        raise Failed(f"{text} is a task of another project", hint="run this command there")

    def seen_from(self, other: "OpenBacklog", text: str) -> str:
        """Return a reference given in this project as another project must store it: a bare id gets this project's
        name.
        """
        reference = parse_single_reference(text)
        if other is self or reference.project is not None:
            return text
        return f"{self.project['name']}:{reference.task}"

    def name_task_of(self, other: "OpenBacklog", task_id: str) -> str:
        """Return the name under which this project refers to a task of `other`."""
        return task_id if other is self else f"{other.project['name']}:{task_id}"

    def reach_task(self, text: str, operation: str) -> "tuple[OpenBacklog, str]":
        """Return the backlog that a reference leads to, and the id there, after the operation was permitted and
        audited.

        Raises: BadReference, Invalid, ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
        """
        reference = parse_single_reference(text)
        if reference.project is None or self.backlog.elsewhere.own(reference.project):
            return self, reference.task
        found, task = open_other_backlog(self.folder, reference, operation)
        self.others.append(found)
        return found, task

    def close(self) -> None:
        """Release git resources of this and of all other opened projects."""
        for other in self.others:
            other.close()
        if isinstance(self.backlog.elsewhere, ProjectNames):
            if self.backlog.elsewhere.met:
                self._keep_bindings(self.backlog.elsewhere.met)
            self.backlog.elsewhere.close()
        if self.nexus is not None:
            self.nexus.close()

    def _keep_bindings(self, refs: set[str]) -> None:
        """Store the `uid` of tasks of other projects that were found by number only, so that the reference stays with
        them.

        Best effort: a caller who cannot write has its answer already.
        """
        with contextlib.suppress(NexusError, OSError):
            self.backlog.change(lambda tasks: rebound(tasks, refs, self.backlog.elsewhere))


def open_backlog(folder: Path, caller: Path | None = None) -> OpenBacklog:
    """Open the backlog of the nearest project, including edits made by hand in `.nexus/`. Raises: NotFound.

    `caller` is where other projects are seen from, if that is another folder: reaching into a project must not widen
    what the caller may read, and GIT_DIR names the caller's repository.
    """
    kept_by_cleo = cleo.nearest_cleo_folder(Path(real_path(folder))) if folder.is_dir() else None
    try:
        nexus = open_nexus(folder, inherit=caller is None)
    except NotFound:
        if kept_by_cleo is None:
            raise
        return _open_cleo_backlog(kept_by_cleo)
    if kept_by_cleo is not None and str(kept_by_cleo).startswith(real_path(nexus.repo.folder) + os.sep):
        nexus.close()
        return _open_cleo_backlog(kept_by_cleo)  # a project inside the project
    return OpenBacklog(
        StateBacklog(nexus.state, claimant_of(nexus.state), ProjectNames(nexus.repo, caller)),
        nexus.described,
        folder,
        nexus,
    )


def task_of_a_run(start: Path, text: str) -> str:
    """Return the reference of the task that a run is for, after checking that it exists and is permitted.

    Raises: BadReference, Invalid, ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
    """
    with contextlib.closing(open_backlog(start)) as opened:
        there, task = opened.reach_task(text, Operation.RUN.value)
        return opened.name_task_of(there, there.backlog.tasks().task(task).id)


def open_other_backlog(start: Path, reference: TaskReference, operation: str) -> tuple[OpenBacklog, str]:
    """Return another project's backlog and the task. Raises: ProjectNotFound, AmbiguousName, PermissionDenied, …"""
    from gitnexus.projects.open_registry import open_standpoint  # the registry: only who names another project pays

    standpoint = open_standpoint(start)
    try:
        at = standpoint.locate(reference)
        how, place = project_health(at.project)
        standpoint.require_permission(
            Operation(operation), at.project, at.task
        )  # before a look: who may not learns nothing
        if place is None:
            raise NotFound(
                f"{at.project.name} is registered at {at.project.path}, and that is {how}",
                hint="git nexus project move sets its new location, git nexus prune removes it",
                fix=f"git nexus project show {at.project.name}",
            )
    finally:
        standpoint.close()
    return open_backlog(Path(at.project.path), start), at.task


def open_outside(folder: Path, why: NotFound) -> OpenBacklog:
    """Return a backlog for a caller outside of all projects; it reaches tasks of projects that permit this."""

    def nobody() -> dict[str, str]:
        raise why

    return OpenBacklog(NoBacklog(why), nobody, folder)


def claimant_of(state: State) -> Callable[[], Claimant]:
    """Return the identity for claims: the agent in NEXUS_AGENT, else the person in git's config."""

    def who() -> Claimant:
        name = os.environ.get("NEXUS_AGENT")
        return agent_claimant(name) if name else person_claimant(state.author.name)

    return who


def _open_cleo_backlog(folder: Path) -> OpenBacklog:
    return OpenBacklog(CleoFolder(folder), lambda: describe_project_at(str(folder)), folder)
