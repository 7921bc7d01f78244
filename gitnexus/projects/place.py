"""Finds a project on disk: a git repository with a state ref, or a folder with `.cleo/todo.json`."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitnexus.base.errors import NexusError, NotFound
from gitnexus.git import Repo, discover, open_objects
from gitnexus.projects.model import Project, default_name, hash_of, real_path
from gitnexus.state import STATE_REF, State
from gitnexus.state.format import project_id_of

CLEO_FILE = ".cleo/todo.json"
Health = Literal["ok", "missing", "not a project", "unreadable"]


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """A project on disk with its real path. A repository counts once, whatever its worktrees."""

    path: str
    kind: Literal["git", "cleo"]
    repo: Repo | None = None

    def as_project(self) -> Project:
        """Return the row that this project would have by default if it were registered."""
        return Project(hash=hash_of(self.path), path=self.path, name=default_name(Path(self.path)))

    def read_project_id(self) -> str | None:
        """Return the project's own id, the same in every clone; a CLEO folder has none."""
        if self.repo is None:
            return None
        state = open_project_state(self.repo)
        try:
            return project_id_of(state.snapshot)
        finally:
            state.close()


def project_at(folder: Path) -> ProjectPlace | None:
    """Return the project whose top is `folder`, or None. Raises: Failed if git cannot use the repository."""
    repo = _repository_at(folder)
    if repo is not None and _has_state(repo):
        return ProjectPlace(real_path(repo.main_folder), "git", repo)
    return ProjectPlace(real_path(folder), "cleo") if _is_cleo(folder) else None


def nearest_project(start: Path, *, inherit: bool = False) -> ProjectPlace | None:
    """Return the project that contains `start`: the nearest ancestor that is one.

    `inherit` respects GIT_DIR, for the command's own project only. Raises: Failed if git cannot tell.
    """
    if inherit and "GIT_DIR" in os.environ:
        repo = discover(start, inherit=True)
        if _has_state(repo):
            return ProjectPlace(real_path(repo.main_folder), "git", repo)
    folder = Path(real_path(start))
    return next((found for above in (folder, *folder.parents) if (found := project_at(above)) is not None), None)


def project_health(project: Project) -> tuple[Health, ProjectPlace | None]:
    """Return the health of a registered project and its location; never raises."""
    folder = Path(project.path)
    if not os.path.lexists(folder):
        return "missing", None
    try:
        found = project_at(folder)
    except (NexusError, OSError):
        return "unreadable", None
    if found is None or found.path != project.path:
        return "not a project", None
    return "ok", found


def open_project_state(repo: Repo) -> State:
    """Open another project's state for reading, without its checkouts."""
    return State(repo, open_objects(repo))


def _has_state(repo: Repo) -> bool:
    objects = open_objects(repo)
    try:
        return objects.tip(STATE_REF) is not None
    finally:
        objects.close()


def _repository_at(folder: Path) -> Repo | None:
    """Return the repository whose top is `folder`; git is started only if there can be one."""
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    if not bare and not os.path.lexists(folder / ".git"):
        return None
    try:
        repo = discover(folder)
    except NotFound:
        return None
    # Below an empty .git folder git would find the repository above.
    tops = {real_path(repo.folder), real_path(repo.git_dir), real_path(repo.common_dir)}
    return repo if real_path(folder) in tops else None


def _is_cleo(folder: Path) -> bool:
    try:
        inside = os.lstat(folder / ".cleo")
        file = os.lstat(folder / CLEO_FILE)
    except OSError:
        return False
    return stat.S_ISDIR(inside.st_mode) and stat.S_ISREG(file.st_mode)
