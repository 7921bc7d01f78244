"""Names the tasks that the end of others made ready, or leaves waiting for good, in this project and in others."""

from pathlib import Path

from gitnexus.backlog import BacklogTask
from gitnexus.backlog.close import newly_ready_tasks, stuck_dependents
from gitnexus.projects.graph_json import dependents_elsewhere
from gitnexus.projects.open_backlog import OpenBacklog


def name_tasks_after_closing(
    there: OpenBacklog, closed: list[BacklogTask], start: Path | None = None, *, everywhere: bool = True
) -> list[str]:
    """Return the tasks that can be started now that tasks of `there` are done, or that wait for cancelled ones in vain.

    `start` is where the caller stands, if that is another project: then all are named with their project. Tasks of
    other projects are those that may be read from there.
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
