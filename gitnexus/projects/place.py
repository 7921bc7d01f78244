"""What a project is on disk: a git repository with a state ref, or a folder with `.cleo/todo.json`."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitnexus.base.errors import NexusError, NotFound
from gitnexus.git import Repo, discover, open_objects
from gitnexus.projects.model import Project, default_name, hash_of, real
from gitnexus.state import STATE_REF, State
from gitnexus.state.format import id_of

CLEO_FILE = ".cleo/todo.json"
Health = Literal["ok", "missing", "not a project", "unreadable"]


@dataclass(frozen=True, slots=True)
class Place:
    """A project where it lies: the real path that it is known by. A repository counts once, however many worktrees."""

    path: str
    kind: Literal["git", "cleo"]
    repo: Repo | None = None

    def as_project(self) -> Project:
        """Return the row that an unregistered project would have by default."""
        return Project(hash=hash_of(self.path), path=self.path, name=default_name(Path(self.path)))

    def identity(self) -> str | None:
        """Return the project's own id, the same in every clone; a CLEO folder has none."""
        if self.repo is None:
            return None
        state = state_of(self.repo)
        try:
            return id_of(state.snapshot)
        finally:
            state.close()


def at(folder: Path) -> Place | None:
    """Return the project whose top is `folder`, or None. Raises: Failed where git cannot use the repository."""
    repo = _repository(folder)
    if repo is not None and _has_state(repo):
        return Place(real(repo.main_place), "git", repo)
    return Place(real(folder), "cleo") if _is_cleo(folder) else None


def nearest(start: Path, *, inherit: bool = False) -> Place | None:
    """Return the project that `start` lies in: the nearest ancestor that is one.

    `inherit` lets GIT_DIR speak, for the command's own project only. Raises: Failed where git cannot tell.
    """
    if inherit and "GIT_DIR" in os.environ:
        repo = discover(start, inherit=True)
        if _has_state(repo):
            return Place(real(repo.main_place), "git", repo)
    folder = Path(real(start))
    return next((found for above in (folder, *folder.parents) if (found := at(above)) is not None), None)


def health(project: Project) -> tuple[Health, Place | None]:
    """Return how a registered project is, and where; nothing is raised."""
    folder = Path(project.path)
    if not os.path.lexists(folder):
        return "missing", None
    try:
        found = at(folder)
    except (NexusError, OSError):
        return "unreadable", None
    if found is None or found.path != project.path:
        return "not a project", None
    return "ok", found


def state_of(repo: Repo) -> State:
    """Open another project's state for reading: its checkouts are none of our business."""
    return State(repo, open_objects(repo))


def _has_state(repo: Repo) -> bool:
    objects = open_objects(repo)
    try:
        return objects.tip(STATE_REF) is not None
    finally:
        objects.close()


def _repository(folder: Path) -> Repo | None:
    """Return the repository whose top is `folder`; git is asked only where one can be."""
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    if not bare and not os.path.lexists(folder / ".git"):
        return None
    try:
        repo = discover(folder)
    except NotFound:
        return None
    # Below an empty .git folder git would find the repository above.
    tops = {real(repo.place), real(repo.git_dir), real(repo.common_dir)}
    return repo if real(folder) in tops else None


def _is_cleo(folder: Path) -> bool:
    try:
        inside = os.lstat(folder / ".cleo")
        file = os.lstat(folder / CLEO_FILE)
    except OSError:
        return False
    return stat.S_ISDIR(inside.st_mode) and stat.S_ISREG(file.st_mode)
