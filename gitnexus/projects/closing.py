"""Lists the tasks that become ready, or can never start, once given tasks are done or cancelled; in all projects."""

from pathlib import Path

from gitnexus.backlog import BacklogTask
from gitnexus.backlog.close import newly_ready_tasks, stuck_dependents
from gitnexus.projects.graph_json import dependents_elsewhere
from gitnexus.projects.open_backlog import OpenBacklog


def name_tasks_after_closing(
    there: OpenBacklog, closed: list[BacklogTask], start: Path | None = None, *, everywhere: bool = True
) -> list[str]:
    """Return the tasks that can start now that tasks of `there` are done, or that wait for a cancelled task in vain.

    If `start` belongs to another project (the caller's), each task is named with its project. Of other projects, only
    tasks that the caller may read are returned.
    """
    done = closed[0].status == "done"
    if done:
        local = [other for task in closed for other in newly_ready_tasks(there.backlog, task)]
    else:
        local = stuck_dependents(there.backlog.tasks(), closed)
    names = [other.id if start is None else f"{there.project['name']}:{other.id}" for other in local]
    if not everywhere:
        return names
    rows = dependents_elsewhere(start or there.folder, there.project["hash"], [task.id for task in closed])
    return names + [row["ref"] for row in rows if row["ready"] or not done]
