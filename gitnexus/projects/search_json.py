"""Answers task searches as JSON for commands and tools: related tasks, and tasks that contain words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gitnexus.base.errors import BadUsage
from gitnexus.projects.discovery import RelatedQuery, find_related_tasks, rank_answers
from gitnexus.projects.finding import TaskFilter, find_tasks, search_result
from gitnexus.projects.graph_refresh import Progress, with_network
from gitnexus.projects.network import TaskNetwork
from gitnexus.projects.operations import Operation
from gitnexus.projects.resolve import LocatedTask
from gitnexus.projects.standpoint import Standpoint

Method = Literal["auto", "labels", "description", "files", "hierarchy"]
LEAST = 0.6


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """The parameters of a search for related tasks; the default threshold is 0.6, for hierarchy 0."""

    method: str = "auto"
    scope: str = "all"
    threshold: float | None = None
    limit: int = 20
    context: bool = False

    @property
    def least(self) -> float:
        """The threshold."""
        return self.threshold if self.threshold is not None else 0.0 if self.method == "hierarchy" else LEAST


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The parameters of a search; `id` may name a project and contain `*`."""

    words: str = ""
    scope: str = "all"
    id: str = ""
    statuses: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    limit: int = 20


def discover_tasks(
    standpoint: Standpoint, located: LocatedTask, relation: RelationQuery, progress: Progress | None = None
) -> dict[str, Any]:
    """Return the tasks related to one. Raises: NotFound, ProjectNotFound, PermissionDenied."""
    within = _scope_filter(standpoint, relation.scope)

    def look(network: TaskNetwork) -> dict[str, Any]:
        answer = find_related_tasks(
            network.index, network.row(located), RelatedQuery(relation.method, relation.least, relation.context)
        )
        results = rank_answers(answer, network.names, lambda one: network.may_read(one) and within(one), relation.limit)
        told = {
            "taskId": located.task_id,
            "ref": located.ref,
            "project": located.project.name,
            "method": relation.method,
            "results": results,
        }
        return network.with_left_out(told, within)

    return with_network(standpoint, look, progress)


def search_tasks(standpoint: Standpoint, sought: SearchQuery, progress: Progress | None = None) -> dict[str, Any]:
    """Return the tasks that contain every word, best first. Raises: BadUsage, ProjectNotFound, PermissionDenied."""
    words = sought.words.strip()
    if not (words or sought.id or sought.statuses or sought.labels):
        raise BadUsage("say what to search for", hint="words, or an id, a status or a label")
    name, _, wanted = sought.id.rpartition(":")
    within = _scope_filter(standpoint, sought.scope if name in ("", "*") else "current" if name == "." else name)

    def look(network: TaskNetwork) -> dict[str, Any]:
        names = {one: name for one, name in network.names.items() if network.may_read(one) and within(one)}
        asked = TaskFilter(names, sought.statuses, frozenset(sought.labels), wanted)
        rows, total = find_tasks(network.index, words, asked, sought.limit)
        told = {"results": [search_result(score, row, names) for score, row in rows], "total": total}
        return network.with_left_out(told, within)

    return with_network(standpoint, look, progress)


def _scope_filter(standpoint: Standpoint, scope: str) -> Callable[[str], bool]:
    """Return the projects of a scope. Raises: ProjectNotFound, PermissionDenied, NotFound."""
    if scope == "all":
        return lambda project: True
    wanted = standpoint.find("." if scope == "current" else scope)
    standpoint.require_permission(Operation.SEARCH, wanted)
    return lambda project: project == wanted.hash
