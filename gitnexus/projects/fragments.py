"""Bring the index up to date: look at each project as cheaply as can be, and read only those that changed."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from gitnexus.backlog.cleo import ARCHIVE, FOLDER, TODO, tasks_at
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import tasks_in
from gitnexus.base.errors import NexusError
from gitnexus.git import GitFailed
from gitnexus.projects.finding import folded
from gitnexus.projects.index import Entry, Index
from gitnexus.projects.model import Project
from gitnexus.projects.place import Place, health, state_of
from gitnexus.state import STATE_REF

_GONE = "gone"


def refresh(
    index: Index, projects: Sequence[Project], progress: Callable[[int, int, str], None] | None = None
) -> list[str]:
    """Make the index answer for exactly these projects; return the names of those that were read anew."""
    known = index.contents()
    stale = [project for project in projects if known.get(project.hash, ("", ""))[1] != _glance(project)]
    gone = known.keys() - {project.hash for project in projects}
    if not stale and not gone:
        return []
    rebuilt = []
    with index.changing():
        known = index.contents()  # another process may have been first
        if gone:
            index.drop(gone)
        for at, project in enumerate(stale, 1):
            if progress is not None:
                progress(at, len(stale), project.name)
            if _renewed(index, project, known.get(project.hash)):
                rebuilt.append(project.name)
    return rebuilt


def _renewed(index: Index, project: Project, known: tuple[str, str] | None) -> bool:
    glance = _glance(project)
    if known is not None and known[1] == glance:
        return False
    place = health(project)[1]
    try:
        content, tasks = (_GONE, []) if place is None else _read(place, known[0] if known else None)
    except (NexusError, OSError, GitFailed):
        content, tasks = _GONE, []  # what cannot be read has no tasks that could be shown
    if tasks is None:
        index.seen(project.hash, glance)
        return False
    index.replace(project.hash, content, glance, [_entry(task) for task in tasks], folded)
    return True


def _read(place: Place, known: str | None) -> tuple[str, list[BacklogTask] | None]:
    """Return what identifies a project's tasks, and the tasks, None if they are those that are known."""
    if place.repo is None:
        return _glance_of_files(Path(place.path)), list(tasks_at(Path(place.path)))
    state = state_of(place.repo)
    try:
        snapshot = state.snapshot
        content = state.objects.find(snapshot.tree, "backlog") if snapshot.tree else None
        name = content.oid if content is not None else "empty"
        return name, None if name == known else list(tasks_in(snapshot))
    finally:
        state.close()


def _glance(project: Project) -> str:
    """Return what changes whenever a project's tasks do, from one or two files: the tip of its state ref, or a stat."""
    root = Path(project.path)
    for common in (_git_folder(root), root):
        try:
            return f"ref {(common / STATE_REF).read_text(encoding='ascii').strip()}"
        except (OSError, UnicodeDecodeError):
            pass
        packed = _stat(common / "packed-refs")
        if packed or (common / "HEAD").exists():
            # A repository may have no state ref and be a folder of CLEO.
            return f"refs {packed} {_stat(common / 'reftable' / 'tables.list')} {_glance_of_files(root)}"
    return _glance_of_files(root)


def _git_folder(root: Path) -> Path:
    """Return where git keeps a work tree's refs: `.git`, or the folder that a file of this name points to."""
    try:
        pointer = os.fsdecode((root / ".git").read_bytes()[:4096])
    except OSError:
        return root / ".git"
    return root / pointer.removeprefix("gitdir:").strip()


def _glance_of_files(root: Path) -> str:
    return f"files {_stat(root / FOLDER / TODO)} {_stat(root / FOLDER / ARCHIVE)}"


def _stat(path: Path) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}"


def _entry(task: BacklogTask) -> Entry:
    return Entry(
        task.id, task.title, task.status, task.priority, task.type, task.parent_id, task.description or "",
        task.labels, task.files, task.depends,
    )  # fmt: skip
