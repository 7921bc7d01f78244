"""The result of each backlog tool."""

from typing import Annotated, Any

from pydantic import Field

from gitnexus.backlog.lease import TaskClaim
from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.relation import TaskRelation
from gitnexus.base.document import Many
from gitnexus.base.results import Result, Written


class TaskReadiness(Result):
    ready: bool
    blocked: bool


class UnfinishedDependency(Result):
    ref: str
    status: str | None = Field(description="null if it is not known.")
    why: str


class TaskSurroundings(TaskReadiness):
    waits_for: Many[UnfinishedDependency]
    children: Many[str]
    dependents: Many[str]


def _written_task(more: type[Result] = Result) -> Written:
    """Return the form of a task. That of another project has `taskId`, `ref` and `project` besides: a file of CLEO may
    hold fields of these names with any value, which an answer about its own task repeats.
    """
    names: dict[str, type] = {"TaskRelation": TaskRelation, "TaskClaim": TaskClaim}
    return Written(BacklogTask, without=("uids",), more=more, names=names)


Task = Annotated[dict[str, Any], _written_task()]
NowReady = Annotated[Many[str], Field(description="The tasks that can start now.")]


class BacklogTaskResult(Result):
    task: Task


class BacklogListResult(Result):
    tasks: Many[Annotated[dict[str, Any], _written_task(TaskReadiness)]]
    total: int


class BacklogShowResult(Result):
    task: Annotated[dict[str, Any], _written_task(TaskSurroundings)]


class BacklogUpdateResult(Result):
    task: Task
    now_ready: NowReady | None = None
    waiting: Many[str] | None = Field(None, description="The tasks that can never become ready now.")


class BacklogCompleteResult(Result):
    task: Task
    now_ready: NowReady


class NextAlternative(Result):
    id: str
    title: str
    why: Many[str]


class BacklogNextResult(Result):
    task: Task | None = Field(description="null if nothing can be started.")
    why: Many[str]
    ready: int
    blocked: int
    claimed: int
    alternatives: Many[NextAlternative]
    cycles: Many[Many[str]]


class BacklogClaimResult(Result):
    task: Task
    claimed: bool
