"""The backlog of the project that a command is called in: on the state ref, or where CLEO keeps it."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.app.open import Nexus, described_at, open_nexus, own_names
from gitnexus.backlog import Backlog, StateBacklog
from gitnexus.backlog.elsewhere import Outside
from gitnexus.backlog.reference import Reference, one
from gitnexus.backlog.who import Claimant, agent, person
from gitnexus.base.errors import Failed, NotFound
from gitnexus.git import Repo
from gitnexus.projects.model import real
from gitnexus.state import State

if TYPE_CHECKING:
    from gitnexus.app.elsewhere import Projects


class Names:
    """Knows the names of a project, and whom to ask about others when it comes to that: who stands at `caller`."""

    def __init__(self, repo: Repo, caller: Path | None = None) -> None:
        self._repo = repo
        self._caller = caller or repo.place
        self._others: Projects | None = None

    def own(self, project: str) -> bool:
        return project in self._names

    def admitted(self, reference: Reference) -> str:
        return self._projects.admitted(reference)

    def seen(self, reference: Reference) -> Outside:
        return self._projects.seen(reference)

    def close(self) -> None:
        """Let go of git."""
        if self._others is not None:
            self._others.close()

    @property
    def _projects(self) -> "Projects":
        if self._others is None:
            from gitnexus.app.elsewhere import Projects  # most tasks know nothing of other projects

            self._others = Projects(self._caller)
        return self._others

    @cached_property
    def _names(self) -> frozenset[str]:
        return own_names(self._repo)


@dataclass
class OpenBacklog:
    """What a command about tasks works with."""

    backlog: Backlog
    describe: Callable[[], dict[str, str]]
    place: Path
    nexus: Nexus | None = None
    others: "list[OpenBacklog]" = field(default_factory=list)

    @cached_property
    def project(self) -> dict[str, str]:
        """The project for an envelope: name, hash and path."""
        return self.describe()

    def named(self, plain: dict[str, object]) -> dict[str, object]:
        """Return a task for JSON, saying whose it is."""
        project, task_id = self.project, plain["id"]
        whose = {"taskId": f"{project['hash']}:{task_id}", "ref": f"{project['name']}:{task_id}"}
        return {**plain, **whose, "project": project["name"]}

    def local(self, text: str) -> str:
        """Return the id that a reference means in this project. Raises: BadReference, Invalid, Failed."""
        reference = one(text)
        if reference.project is None or self.backlog.elsewhere.own(reference.project):
            return reference.task
        raise Failed(f"{text} is a task of another project", hint="run this command there")

    def seen_from(self, other: "OpenBacklog", text: str) -> str:
        """Return a reference that was given here as another project must store it: a bare id means one of ours."""
        reference = one(text)
        if other is self or reference.project is not None:
            return text
        return f"{self.project['name']}:{reference.task}"

    def called(self, other: "OpenBacklog", task_id: str) -> str:
        """Return how people here call a task of `other`."""
        return task_id if other is self else f"{other.project['name']}:{task_id}"

    def reach(self, text: str, operation: str) -> "tuple[OpenBacklog, str]":
        """Return the backlog that a reference leads to and the id there, once the operation is permitted and audited.

        Raises: BadReference, Invalid, ProjectNotFound, AmbiguousName, PermissionDenied, NotFound.
        """
        reference = one(text)
        if reference.project is None or self.backlog.elsewhere.own(reference.project):
            return self, reference.task
        from gitnexus.app.reach import reached

        found, task = reached(self.place, reference, operation)
        self.others.append(found)
        return found, task

    def close(self) -> None:
        """Let go of git, here and wherever this reached."""
        for other in self.others:
            other.close()
        if isinstance(self.backlog.elsewhere, Names):
            self.backlog.elsewhere.close()
        if self.nexus is not None:
            self.nexus.close()


def open_backlog(place: Path, caller: Path | None = None) -> OpenBacklog:
    """Open the backlog of the nearest project, hand edits taken in. Raises: NotFound.

    Other projects are seen from `caller`, where that is another place: who reaches into a project sees no more by it,
    and GIT_DIR names the caller's.
    """
    from gitnexus.backlog import cleo

    kept_by_cleo = cleo.nearest(Path(real(place))) if place.is_dir() else None
    try:
        nexus = open_nexus(place, inherit=caller is None)
    except NotFound:
        if kept_by_cleo is None:
            raise
        return _cleo(kept_by_cleo)
    if kept_by_cleo is not None and str(kept_by_cleo).startswith(real(nexus.repo.place) + os.sep):
        nexus.close()
        return _cleo(kept_by_cleo)  # a project inside the project
    return OpenBacklog(
        StateBacklog(nexus.state, claimant_of(nexus.state), Names(nexus.repo, caller)), nexus.described, place, nexus
    )


def open_outside(place: Path, why: NotFound) -> OpenBacklog:
    """Stand outside any project: tasks of others can be reached, as far as nobody's project may."""
    from gitnexus.backlog.store import NoBacklog

    def nobody() -> dict[str, str]:
        raise why

    return OpenBacklog(NoBacklog(why), nobody, place)


def claimant_of(state: State) -> Callable[[], Claimant]:
    """Return who claims: the agent that NEXUS_AGENT names, else the person whom git names."""

    def who() -> Claimant:
        name = os.environ.get("NEXUS_AGENT")
        return agent(name) if name else person(state.author.name)

    return who


def _cleo(folder: Path) -> OpenBacklog:
    from gitnexus.backlog.cleo import CleoFolder

    return OpenBacklog(CleoFolder(folder), lambda: described_at(str(folder)), folder)
