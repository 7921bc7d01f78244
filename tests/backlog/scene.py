"""Tasks for tests, written short."""

from datetime import UTC, datetime
from typing import Any

from gitnexus.backlog.elsewhere import ForeignTask, NoForeignTasks
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.reference import TaskReference
from gitnexus.backlog.tasks import Tasks

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)
STAMP = "2026-02-01T12:00:00Z"


class World(NoForeignTasks):
    """Another project, `auth`, of which the tests say what its tasks are; this one is called `here`."""

    def __init__(self, **statuses: str) -> None:
        self.statuses = statuses

    def own(self, project: str) -> bool:
        return project == "here"

    def seen(self, reference: TaskReference, uid: str | None = None) -> ForeignTask:
        status = self.statuses.get(reference.task) if reference.project == "auth" else None
        return ForeignTask(str(reference), "title", status, None if status else "is not to be found")


ALONE = World()


def task(number: int, **fields: Any) -> BacklogTask:
    """Return T<number>."""
    return BacklogTask.from_value({"id": f"T{number}", "title": f"task {number}", "rev": 1, **fields}, "x")


def tasks(*rows: BacklogTask) -> Tasks:
    return Tasks.of(rows)
