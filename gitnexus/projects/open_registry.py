"""The standpoint of a command: which project is the current one, and whether reads are audited."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gitnexus.app.homeseal import guarded
from gitnexus.app.keepers import open_state
from gitnexus.app.open import notices, settled
from gitnexus.base.errors import Invalid, NotFound, ProjectNotFound
from gitnexus.base.files import expand_home
from gitnexus.projects.place import Place, health, nearest
from gitnexus.projects.standpoint import Life, Standpoint
from gitnexus.state.settings import section, user_section


def open_standpoint(start: Path, word: str | None = None, life: Life = "short") -> Standpoint:
    """Stand in the project that `start` lies in, or in the one that `word` names: a name, or a folder.

    Raises: ProjectNotFound, AmbiguousName, NotFound.
    """
    place = chosen(start, word) if word else nearest(start, inherit=True)
    return Standpoint(place, life=life, audit_reads=_audit_reads(place), guarded=guarded)


def taken_in(standpoint: Standpoint) -> list[str]:
    """Take in what was edited by hand in the current project; tell what was."""
    here = standpoint.here
    if here is None or here.repo is None:
        return []
    with contextlib.closing(open_state(here.repo)) as state:
        return notices(settled(state)) if state.exists else []


def chosen(start: Path, word: str) -> Place:
    """Return the project that `word` names. Raises: ProjectNotFound, AmbiguousName, NotFound."""
    folder = start / expand_home(word)
    with contextlib.closing(Standpoint(None, guarded=guarded)) as outside:
        try:
            project = outside.find(word)
        except (ProjectNotFound, Invalid):
            if not folder.is_dir():
                raise
        else:
            place = health(project)[1]
            if place is None:
                raise NotFound(f"{project.name} is registered at {project.path}, where no project is",
                               fix=f"git nexus project show {project.name}")  # fmt: skip
            return place
    found = nearest(folder)
    if found is None:
        raise NotFound(f"{folder} does not lie in a project", fix="git nexus project list")
    return found


def _audit_reads(place: Place | None) -> Callable[[], bool]:
    """Return a look at the settings. Either of user and project can ask for it, neither can take it back."""

    def asked() -> bool:
        if _is_set(user_section("audit")):
            return True
        if place is None or place.repo is None:
            return False
        with contextlib.closing(open_state(place.repo)) as state:
            settled(state)  # what was edited by hand counts, if it can be taken in now
            return _is_set(section(state.snapshot, "audit"))

    return asked


def _is_set(settings: dict[str, Any]) -> bool:
    value = settings.get("reads", False)
    if not isinstance(value, bool):
        raise Invalid("settings.json: audit.reads should be true or false")
    return value
