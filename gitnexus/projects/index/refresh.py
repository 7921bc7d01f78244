"""Bring the index up to date: look at each project as cheaply as can be, and read only those that changed."""

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gitnexus.backlog.cleo import ARCHIVE, FOLDER, TODO, content_of, tasks_at
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import FOLDER as BACKLOG
from gitnexus.backlog.store import id_at, row_of
from gitnexus.base.errors import NexusError
from gitnexus.git import GitFailed, Repo
from gitnexus.projects.finding import folded
from gitnexus.projects.index import GONE, Entry, Index
from gitnexus.projects.model import Project
from gitnexus.projects.place import health, state_of
from gitnexus.state import STATE_REF

_TICK = 100_000_000  # nanoseconds; the clock of a file system goes by hundredths of a second, or less


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
    with index.changing(), _no_collector():
        known = index.contents()  # another process may have been first
        if gone:
            index.drop(gone)
        for at, project in enumerate(stale, 1):
            if progress is not None:
                progress(at, len(stale), project.name)
            if _renewed(index, project, known.get(project.hash)):
                rebuilt.append(project.name)
    return rebuilt


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Reading makes very many small values and no circles of them; to look for circles takes a tenth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _renewed(index: Index, project: Project, known: tuple[str, str] | None) -> bool:
    glance = _glance(project)
    if known is not None and known[1] == glance:
        return False
    place = health(project)[1]
    try:
        if place is None:
            index.replace(project.hash, GONE, glance, (), folded)
            return True
        if place.repo is not None:
            return _from_state(index, project, place.repo, known[0] if known else None, glance)
        return _from_cleo(index, project, Path(place.path), known[0] if known else None, glance)
    except (NexusError, OSError, GitFailed):
        index.replace(project.hash, GONE, glance, (), folded)  # what cannot be read has no tasks to be shown
    return True


def _from_cleo(index: Index, project: Project, folder: Path, known: str | None, glance: str) -> bool:
    """Read the files if their bytes are others than those that are known; return False if they are not."""
    content = content_of(folder)
    seen = f"{glance} just now" if _just_now(folder) else glance  # then the next look reads the bytes again
    if content == known:
        index.seen(project.hash, seen)
        return False
    before = index.versions(project.hash)
    entries = {task.id: _entry(task, _version(task)) for task in tasks_at(folder)}
    fresh = [entry for entry in entries.values() if before.get(entry.id) != entry.version]
    index.update(project.hash, content, seen, fresh, before.keys() - entries.keys(), folded)
    return True


def _from_state(index: Index, project: Project, repo: Repo, known: str | None, glance: str) -> bool:
    """Read the tasks whose blobs are not those that are known; return False if none changed."""
    state = state_of(repo)
    try:
        snapshot = state.snapshot
        folder = state.objects.find(snapshot.tree, BACKLOG) if snapshot.tree else None
        content = folder.oid if folder is not None else "empty"
        if content == known:
            index.seen(project.hash, glance)
            return False
        named = {id_at(f"{BACKLOG}/{name}"): oid for name, oid in snapshot.oids(BACKLOG).items()}
        oids = {task: oid for task, oid in named.items() if task is not None}
        before = index.versions(project.hash)
        fresh = [task for task, oid in oids.items() if before.get(task) != oid]
        blobs = snapshot.blobs([oids[task] for task in fresh])
        rows = [row_of(raw, task) for task, raw in zip(fresh, blobs, strict=True)]
    finally:
        state.close()
    entries = [_entry(row, oids[row.id]) for row in rows if isinstance(row, BacklogTask)]
    gone = before.keys() - oids.keys() | set(fresh)
    index.update(project.hash, content, glance, entries, gone, folded)
    return True


def _glance(project: Project) -> str:
    """Return what changes whenever a project's tasks do, from one or two files: the tip of its state ref, or a stat."""
    ours = f"{project.path}/.git"
    tip = _tip(ours)  # the usual case is one small file: every command looks at every project
    if tip:
        return tip
    for common in (_git_folder(ours), project.path):
        tip = _tip(common)
        if tip:
            return tip
        packed = _stat(f"{common}/packed-refs")
        if packed or Path(common, "HEAD").exists():
            # A repository may have no state ref and be a folder of CLEO.
            return f"refs {packed} {_stat(f'{common}/reftable/tables.list')} {_glance_of_files(project.path)}"
    return _glance_of_files(project.path)


def _tip(common: str) -> str:
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


def _git_folder(ours: str) -> str:
    """Return where git keeps a work tree's refs: `.git`, or the folder that a file of this name points to."""
    try:
        pointer = os.fsdecode(Path(ours).read_bytes()[:4096])
    except OSError:
        return ours
    return str(Path(ours).parent / pointer.removeprefix("gitdir:").strip())


def _glance_of_files(root: str) -> str:
    return f"files {_stat(f'{root}/{FOLDER}/{TODO}')} {_stat(f'{root}/{FOLDER}/{ARCHIVE}')}"


def _stat(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}"


def _just_now(folder: Path) -> bool:
    """True if a file was written so lately that another write of as many bytes might have the same time."""
    for name in (TODO, ARCHIVE):
        with contextlib.suppress(OSError):
            if abs(time.time_ns() - os.stat(folder / FOLDER / name).st_ctime_ns) < _TICK:
                return True
    return False


def _version(task: BacklogTask) -> str:
    """Return what changes whenever a task of CLEO's does: its file has none for each."""
    import hashlib

    return hashlib.sha256(repr(_entry(task, "")).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _entry(task: BacklogTask, version: str) -> Entry:
    return Entry(
        task.id, task.title, task.status, task.priority, task.type, task.parent_id, task.description or "",
        task.labels, task.files, task.depends, version,
    )  # fmt: skip
