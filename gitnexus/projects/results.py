"""The result of each tool about projects and the graph of their tasks."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gitnexus.base.document import Many
from gitnexus.base.results import Result, Written
from gitnexus.projects.overview import ProjectOverview

ProjectRow = Annotated[dict[str, Any], Written(ProjectOverview)]
Location = Literal["local", "external"]


class UnreadableProject(Result):
    project: str
    reason: str


class GraphResult(Result):
    """A result that lacks the tasks of projects that could not be read."""

    unreadable: Many[UnreadableProject] | None = Field(None, description="Projects whose tasks are missing here.")


class ProjectsResult(Result):
    projects: Many[ProjectRow]
    current: str | None = None


class ProjectShowResult(Result):
    project: ProjectRow


class DependencyRow(Result):
    task_id: str | None
    ref: str
    project: str | None
    title: str | None
    status: str | None
    location: Location
    reason: str | None = Field(None, description="Why the status is not known.")


class DependentRow(Result):
    task_id: str
    ref: str
    project: str
    title: str
    status: str
    location: Location


class TaskDepsResult(GraphResult):
    task_id: str
    ref: str
    project: str
    dependencies: Many[DependencyRow]
    blocked: bool
    blocked_by: Many[str]
    dependents: Many[DependentRow]


class RelationScores(Result):
    labels: float
    description: float
    files: float
    hierarchy_boost: float


class RelatedTaskRow(Result):
    task_id: str
    ref: str
    project: str
    title: str
    status: str
    score: float
    method: str
    reason: str
    scores: RelationScores


class TaskDiscoverResult(GraphResult):
    task_id: str
    ref: str
    project: str
    method: str
    results: Many[RelatedTaskRow]


class TaskFoundRow(Result):
    task_id: str
    ref: str
    project: str
    title: str
    status: str
    priority: str
    labels: Many[str]
    score: float


class TaskSearchResult(GraphResult):
    results: Many[TaskFoundRow]
    total: int
