"""Finds tasks, of other projects too, that depend on tasks of this one."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.backlog import BacklogTask
    from gitnexus.projects.open_backlog import OpenBacklog


def find_dependents_elsewhere(opened: "OpenBacklog", there: "OpenBacklog", *tasks: str) -> "list[dict[str, Any]]":
    """Return the open tasks of other projects that depend on tasks of this one, as far as they may be read."""
    if there.nexus is None:
        return []
    from gitnexus.projects.graph_json import dependents_elsewhere

    return dependents_elsewhere(opened.folder, there.project["hash"], tasks)


def find_tasks_after_closing(opened: "OpenBacklog", there: "OpenBacklog", closed: "list[BacklogTask]") -> list[str]:
    """Return the tasks that can start now that some are done, or that wait for cancelled ones in vain."""
    from gitnexus.projects.closing import name_tasks_after_closing

    start = None if there is opened else opened.folder
    return name_tasks_after_closing(there, closed, start, everywhere=there.nexus is not None)
