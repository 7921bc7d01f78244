"""Resolves a word to a project by name, then alias, then hash prefix. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gitnexus.backlog.reference import TaskReference
from gitnexus.base.errors import AmbiguousName, Conflict, NotFound, ProjectNotFound
from gitnexus.base.text import one_line
from gitnexus.projects.model import NAME, Project, Registry

HASH_PREFIX = re.compile(r"[0-9a-f]{4,12}")
_LIST = {"action": "List registered projects", "command": "git nexus project list"}


@dataclass(frozen=True, slots=True)
class LocatedTask:
    """A reference to a task of a project, which may not exist."""

    project: Project
    task: str

    @property
    def task_id(self) -> str:
        """The reference in a form with the same meaning in every project: hash:T1."""
        return f"{self.project.hash}:{self.task}"

    @property
    def ref(self) -> str:
        """The reference as people write it: name:T1."""
        return f"{self.project.name}:{self.task}"


def find_project(registry: Registry, word: str) -> Project:
    """Return the project that `word` names. Raises: ProjectNotFound, AmbiguousName."""
    rows = registry.projects_by_name()
    for matches in (
        [row for row in rows if row.name == word],
        [row for row in rows if word in row.aliases],
        [row for row in rows if HASH_PREFIX.fullmatch(word) and row.hash.startswith(word)],
    ):
        if len(matches) > 1:
            raise _ambiguous_error(word, matches)
        if matches:
            return matches[0]
    raise _unknown_error(word, rows)


def require_row(registry: Registry, project: Project) -> Project:
    """Return the current row of a project. Raises: Conflict if it was removed meanwhile."""
    row = registry.projects.get(project.hash)
    if row is None:
        raise Conflict(f"{project.name} was unregistered meanwhile", hint="run the command again")
    return row


def locate_task(registry: Registry, current: Project | None, reference: TaskReference) -> LocatedTask:
    """Return the project and task of a reference to one project. Raises: ProjectNotFound, AmbiguousName, NotFound."""
    if not reference.is_current:
        return LocatedTask(find_project(registry, reference.project or ""), reference.task)
    return LocatedTask(require_current(current), reference.task)


def require_current(current: Project | None) -> Project:
    """Return the current project. Raises: NotFound outside of all projects."""
    if current is None:
        raise NotFound(
            "not in a project",
            hint="change into one, or name it as in my-api:T1; git nexus project list shows them",
            fix="git nexus project list",
        )
    return current


def _ambiguous_error(word: str, matches: Sequence[Project]) -> AmbiguousName:
    named = ", ".join(f"{row.name} ({row.hash})" for row in matches[:5])
    return AmbiguousName(
        f"'{one_line(word, 80)}' may be any of {named}",
        hint="use a whole name, or more digits of the hash",
        fix=f"git nexus project show {matches[0].hash}",
        context={"requestedProject": word, "candidates": [row.described() for row in matches]},
        alternatives=[
            {"action": f"Show {row.name} at {row.path}", "command": f"git nexus project show {row.hash}"}
            for row in matches[:5]
        ],
    )


def _unknown_error(word: str, rows: Sequence[Project]) -> ProjectNotFound:
    names = [row.name for row in rows]
    near = get_close_matches(word, [*names, *(alias for row in rows for alias in row.aliases)], n=3)
    return ProjectNotFound(
        f"project '{one_line(word, 80)}' not found in registry",
        hint=f"did you mean {' or '.join(near)}?" if near else None,
        fix=f"git nexus register PATH --name {word}" if NAME.fullmatch(word) else _LIST["command"],
        context={"requestedProject": word, "registeredProjects": names},
        alternatives=[
            _LIST,
            *({"action": f"Show {name}", "command": f"git nexus project show {name}"} for name in near),
        ],
    )
