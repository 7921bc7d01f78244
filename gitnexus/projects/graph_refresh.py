"""The graph of all projects, brought up to date by whoever asks."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from gitnexus.base.errors import Busy, CacheCorrupt, SyncFailed
from gitnexus.projects.fragments import refresh
from gitnexus.projects.index import Index
from gitnexus.projects.indexfile import with_index
from gitnexus.projects.model import Project
from gitnexus.projects.network import Network
from gitnexus.projects.standpoint import Standpoint
from gitnexus.state.home import home_folder

Progress = Callable[[int, int, str], None]
T = TypeVar("T")
INDEX = "graph.sqlite"


def with_network(standpoint: Standpoint, use: Callable[[Network], T], progress: Progress | None = None) -> T:
    """Let `use` look at the graph as the current project may see it. Raises: Busy, SyncFailed, CacheCorrupt."""
    projects = all_projects(standpoint)
    readable = {project.hash for project in standpoint.readable()}

    def look(index: Index) -> T:
        refresh(index, projects, progress)
        return use(Network(index, projects, standpoint.current, readable))

    return _asked(look)


def reindexed(standpoint: Standpoint, progress: Progress | None, *, whole: bool) -> dict[str, object]:
    """Bring the index up to date, from nothing if `whole`; return how much there is and what was read anew."""
    projects = all_projects(standpoint)

    def look(index: Index) -> dict[str, object]:
        if whole:
            with index.changing():
                index.drop(list(index.contents()))
        rebuilt = refresh(index, projects, progress)
        counts = index.counts()
        return {"projects": counts["project"], "tasks": counts["task"], "edges": counts["edge"], "rebuilt": rebuilt}

    return _asked(look)


def all_projects(standpoint: Standpoint) -> list[Project]:
    """Return every registered project, and the current one where it is not registered."""
    rows = standpoint.registry.sorted()
    current = standpoint.current
    if current is not None and current.hash not in standpoint.registry.projects:
        rows.append(current)
    return rows


def _asked(look: Callable[[Index], T]) -> T:
    path = home_folder() / "cache" / INDEX
    fix = "git nexus index"
    try:
        return with_index(path, look)
    except sqlite3.OperationalError as exc:
        if "locked" in str(exc):
            raise Busy("another process is building the index", hint="run the command again") from exc
        raise SyncFailed(f"the index cannot be written: {exc}", hint=f"look at {path.parent}", fix=fix) from exc
    except sqlite3.DatabaseError as exc:
        raise CacheCorrupt(f"the index is damaged and could not be built again: {exc}", hint=f"delete {path}",
                           fix=fix) from exc  # fmt: skip
    except OSError as exc:
        raise SyncFailed(f"the index cannot be written: {exc.strerror or exc}", hint=f"look at {path.parent}",
                         fix=fix) from exc  # fmt: skip
