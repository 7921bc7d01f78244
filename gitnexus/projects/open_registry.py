"""Determines the current project of a command among all projects, and whether reads of others are audited."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Invalid, NotFound, ProjectNotFound
from gitnexus.base.files import expand_home
from gitnexus.projects.open_project import settle_notices, settle_or_postpone
from gitnexus.projects.open_state import open_state
from gitnexus.projects.place import ProjectPlace, nearest_project, project_health
from gitnexus.projects.signed_permissions import guard_home
from gitnexus.projects.standpoint import Standpoint
from gitnexus.state.settings import settings_section, user_settings_section


def open_standpoint(start: Path, word: str | None = None) -> Standpoint:
    """Return the standpoint of the project that contains `start`, or of the one that `word` (name or folder) names.

    Raises: ProjectNotFound, AmbiguousName, NotFound.
    """
    place = choose_project(start, word) if word else nearest_project(start, inherit=True)
    return Standpoint(place, audit_reads=_audit_reads(place), guarded=guard_home)


def take_in_edits(standpoint: Standpoint) -> list[str]:
    """Commit edits made by hand in the current project; return notices about them."""
    here = standpoint.here
    if here is None or here.repo is None:
        return []
    with contextlib.closing(open_state(here.repo)) as state:
        return settle_notices(settle_or_postpone(state)) if state.exists else []


def choose_project(start: Path, word: str) -> ProjectPlace:
    """Return the project that `word` names. Raises: ProjectNotFound, AmbiguousName, NotFound."""
    folder = start / expand_home(word)
    with contextlib.closing(Standpoint(None, guarded=guard_home)) as outside:
        try:
            project = outside.find(word)
        except (ProjectNotFound, Invalid):
            if not folder.is_dir():
                raise
        else:
            place = project_health(project)[1]
            if place is None:
                raise NotFound(
                    f"{project.name} is registered at {project.path}, where no project is",
                    fix=f"git nexus project show {project.name}",
                )
            return place
    found = nearest_project(folder)
    if found is None:
        raise NotFound(f"{folder} is not in a project", fix="git nexus project list")
    return found


def _audit_reads(project_place: ProjectPlace | None) -> Callable[[], bool]:
    """Return a function that reads the setting. User and project can each turn auditing on; neither can turn it off."""

    def asked() -> bool:
        if _is_set(user_settings_section("audit")):
            return True
        if project_place is None or project_place.repo is None:
            return False
        with contextlib.closing(open_state(project_place.repo)) as state:
            settle_or_postpone(state)  # what was edited by hand counts, if it can be taken in now
            return _is_set(settings_section(state.snapshot, "audit"))

    return asked


def _is_set(settings: dict[str, Any]) -> bool:
    value = settings.get("reads", False)
    if not isinstance(value, bool):
        raise Invalid("settings.json: audit.reads should be true or false")
    return value
