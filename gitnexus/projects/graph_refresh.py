"""Updates the task index of all projects, and runs queries on the dependency graph."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from gitnexus.base.errors import Busy, CacheCorrupt, SyncFailed
from gitnexus.projects.index.file import with_index
from gitnexus.projects.index.model import TaskIndex
from gitnexus.projects.index.refresh import refresh_index
from gitnexus.projects.model import Project
from gitnexus.projects.network import TaskNetwork
from gitnexus.projects.standpoint import Standpoint
from gitnexus.state.home import home_folder

Progress = Callable[[int, int, str], None]
T = TypeVar("T")
INDEX = "graph.sqlite"


def with_network(standpoint: Standpoint, use: Callable[[TaskNetwork], T], progress: Progress | None = None) -> T:
    """Call `use` with the graph that the current project may see. Raises: Busy, SyncFailed, CacheCorrupt."""
    projects = all_projects(standpoint)
    readable = {project.hash for project in standpoint.readable()}

    def look(index: TaskIndex) -> T:
        refresh_index(index, projects, progress)
        return use(TaskNetwork(index, projects, standpoint.current, readable))

    return _use_index(look)


def reindex_projects(standpoint: Standpoint, progress: Progress | None, *, whole: bool) -> dict[str, object]:
    """Update the index, from scratch if `whole`; return its size and what was read again."""
    projects = all_projects(standpoint)

    def look(index: TaskIndex) -> dict[str, object]:
        if whole:
            with index.changing():
                index.drop(list(index.contents()))
        rebuilt = refresh_index(index, projects, progress)
        counts = index.counts()
        told = {"projects": counts["project"], "tasks": counts["task"], "edges": counts["edge"], "rebuilt": rebuilt}
        everything = {project.hash for project in projects}
        return TaskNetwork(index, projects, standpoint.current, everything).with_left_out(told)

    return _use_index(look)


def all_projects(standpoint: Standpoint) -> list[Project]:
    """Return every registered project, and the current one if it is not registered."""
    rows = standpoint.registry.projects_by_name()
    current = standpoint.current
    if current is not None and current.hash not in standpoint.registry.projects:
        rows.append(current)
    return rows


def _use_index(look: Callable[[TaskIndex], T]) -> T:
    path = home_folder() / "cache" / INDEX
    fix = "git nexus index"
    try:
        return with_index(path, look)
    except sqlite3.OperationalError as exc:
        if "locked" in str(exc):
            raise Busy("another process is building the index", hint="run the command again") from exc
        raise SyncFailed(f"the index cannot be written: {exc}", hint=f"look at {path.parent}", fix=fix) from exc
    except sqlite3.DatabaseError as exc:
        raise CacheCorrupt(
            f"the index is damaged and could not be built again: {exc}", hint=f"delete {path}", fix=fix
        ) from exc
    except OSError as exc:
        raise SyncFailed(
            f"the index cannot be written: {exc.strerror or exc}", hint=f"look at {path.parent}", fix=fix
        ) from exc
