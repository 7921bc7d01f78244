"""Updates the index: checks each project cheaply, and reads only those that changed."""

import contextlib
import gc
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gitnexus.backlog.cleo import ARCHIVE, FOLDER, TODO, cleo_content_hash, read_cleo_tasks
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import FOLDER as BACKLOG
from gitnexus.backlog.store import parse_task_row, task_id_at
from gitnexus.base.errors import NexusError
from gitnexus.base.file_stamp import file_stamp
from gitnexus.git import GitFailed, Repo
from gitnexus.git.git_folders import read_git_folders
from gitnexus.projects.finding import fold_text
from gitnexus.projects.index.model import GONE, IndexEntry, TaskIndex
from gitnexus.projects.model import Project
from gitnexus.projects.place import open_project_state, project_health
from gitnexus.state import STATE_REF

_TICK = 100_000_000  # nanoseconds; the clock of a file system goes by hundredths of a second, or less


def refresh_index(
    index: TaskIndex, projects: Sequence[Project], progress: Callable[[int, int, str], None] | None = None
) -> list[str]:
    """Make the index contain exactly these projects; return the names of those that were read again."""
    known = index.contents()
    stale = [project for project in projects if known.get(project.hash, ("", ""))[1] != _project_glance(project)]
    gone = known.keys() - {project.hash for project in projects}
    if not stale and not gone:
        return []
    rebuilt = []
    with index.changing(), _no_collector():
        known = index.contents()  # another process may have been first
        if gone:
            index.drop(gone)
        for at, project in enumerate(stale, 1):
            if progress is not None:
                progress(at, len(stale), project.name)
            if _refresh_project(index, project, known.get(project.hash)):
                rebuilt.append(project.name)
    return rebuilt


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Disable the garbage collector: reading creates many small objects without cycles, and scanning costs 10 %."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _refresh_project(index: TaskIndex, project: Project, known: tuple[str, str] | None) -> bool:
    glance = _project_glance(project)
    if known is not None and known[1] == glance:
        return False
    place = project_health(project)[1]
    try:
        if place is None:
            index.replace(project.hash, GONE, glance, (), fold_text)
            return True
        if place.repo is not None:
            return _refresh_from_state(index, project, place.repo, known[0] if known else None, glance)
        return _refresh_from_cleo(index, project, Path(place.path), known[0] if known else None, glance)
    except (NexusError, OSError, GitFailed):
        index.replace(project.hash, GONE, glance, (), fold_text)  # what cannot be read has no tasks to be shown
    return True


def _refresh_from_cleo(index: TaskIndex, project: Project, folder: Path, known: str | None, glance: str) -> bool:
    """Read the files if their bytes changed; return False if they did not."""
    content = cleo_content_hash(folder)
    seen = f"{glance} just now" if _just_now(folder) else glance  # then the next look reads the bytes again
    if content == known:
        index.note_seen(project.hash, seen)
        return False
    before = index.task_versions(project.hash)
    entries = {task.id: _index_entry(task, _task_version(task)) for task in read_cleo_tasks(folder)}
    fresh = [entry for entry in entries.values() if before.get(entry.id) != entry.version]
    index.update(project.hash, content, seen, fresh, before.keys() - entries.keys(), fold_text)
    return True


def _refresh_from_state(index: TaskIndex, project: Project, repo: Repo, known: str | None, glance: str) -> bool:
    """Read the tasks whose blobs changed; return False if none did."""
    state = open_project_state(repo)
    try:
        snapshot = state.snapshot
        folder = state.objects.find(snapshot.tree, BACKLOG) if snapshot.tree else None
        content = folder.oid if folder is not None else "empty"
        if content == known:
            index.note_seen(project.hash, glance)
            return False
        named = {task_id_at(f"{BACKLOG}/{name}"): oid for name, oid in snapshot.oids(BACKLOG).items()}
        oids = {task: oid for task, oid in named.items() if task is not None}
        before = index.task_versions(project.hash)
        fresh = [task for task, oid in oids.items() if before.get(task) != oid]
        blobs = snapshot.blobs([oids[task] for task in fresh])
        rows = [parse_task_row(raw, task) for task, raw in zip(fresh, blobs, strict=True)]
    finally:
        state.close()
    entries = [_index_entry(row, oids[row.id]) for row in rows if isinstance(row, BacklogTask)]
    gone = before.keys() - oids.keys() | set(fresh)
    index.update(project.hash, content, glance, entries, gone, fold_text)
    return True


def why_unreadable(project: Project) -> str:
    """Return the reason why a project's tasks cannot be read, empty if they can."""
    how, place = project_health(project)
    if place is None:
        return f"{project.path} is {how}"
    try:
        if place.repo is None:
            read_cleo_tasks(Path(place.path))
        else:
            with contextlib.closing(open_project_state(place.repo)) as state:
                state.snapshot.oids(BACKLOG)
    except (NexusError, OSError, GitFailed) as exc:
        return exc.message if isinstance(exc, NexusError) else str(exc)
    return ""


def _project_glance(project: Project) -> str:
    """Return a value that changes whenever a project's tasks do: the tip of its state ref, or a file's stat."""
    tip = _state_tip(f"{project.path}/.git")  # the usual case is one small file: every command looks at every project
    if tip:
        return tip
    for common in (_common_folder(project.path), project.path):
        tip = _state_tip(common)
        if tip:
            return tip
        packed = file_stamp(f"{common}/packed-refs")
        if packed or Path(common, "HEAD").exists():
            # A repository may have no state ref and be a folder of CLEO.
            return f"refs {packed} {file_stamp(f'{common}/reftable/tables.list')} {_glance_of_files(project.path)}"
    return _glance_of_files(project.path)


def _state_tip(common: str) -> str:
    try:
        file = os.open(f"{common}/{STATE_REF}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return f"ref {os.read(file, 200).decode('ascii').strip()}"
    except (OSError, UnicodeDecodeError):
        return ""
    finally:
        os.close(file)


def _common_folder(folder: str) -> str:
    """Return the folder with a worktree's refs, "" if its `.git` cannot be read."""
    try:
        return read_git_folders(folder)[1]
    except OSError:
        return ""


def _glance_of_files(root: str) -> str:
    return f"files {file_stamp(f'{root}/{FOLDER}/{TODO}')} {file_stamp(f'{root}/{FOLDER}/{ARCHIVE}')}"


def _just_now(folder: Path) -> bool:
    """Return True if a file was written so recently that a second write of the same size could have the same time."""
    for name in (TODO, ARCHIVE):
        with contextlib.suppress(OSError):
            if abs(time.time_ns() - os.stat(folder / FOLDER / name).st_ctime_ns) < _TICK:
                return True
    return False


def _task_version(task: BacklogTask) -> str:
    """Return a value that changes whenever a CLEO task does; CLEO's file has no version for each task."""
    return hashlib.sha256(repr(_index_entry(task, "")).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _index_entry(task: BacklogTask, version: str) -> IndexEntry:
    return IndexEntry(
        task.id,
        task.title,
        task.status,
        task.priority,
        task.type,
        task.parent_id,
        task.description or "",
        task.labels,
        task.files,
        task.depends,
        version,
        task.uid or "",
        task.aliases,
        tuple(task.uids.get(ref, "") for ref in task.depends) if task.uids else (),
    )
