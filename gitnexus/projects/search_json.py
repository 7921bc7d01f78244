"""What commands and tools answer when tasks are looked for: those related to one, and those that hold some words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gitnexus.app.network import Progress, with_network
from gitnexus.base.errors import BadUsage
from gitnexus.projects.discovery import Asked, ranked, related
from gitnexus.projects.finding import Wanted, found, result
from gitnexus.projects.network import Network
from gitnexus.projects.operations import Operation
from gitnexus.projects.resolve import Located
from gitnexus.projects.standpoint import Standpoint

METHODS = ("auto", "labels", "description", "files", "hierarchy")
LEAST = 0.6


@dataclass(frozen=True, slots=True)
class Relation:
    """What counts as related; without a threshold, 0.6, and whatever there is for hierarchy."""

    method: str = "auto"
    scope: str = "all"
    threshold: float | None = None
    limit: int = 20
    context: bool = False

    @property
    def least(self) -> float:
        """The least score."""
        return self.threshold if self.threshold is not None else 0.0 if self.method == "hierarchy" else LEAST


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for; `id` may name a project and hold *."""

    words: str = ""
    scope: str = "all"
    id: str = ""
    statuses: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    limit: int = 20


def discovered(
    standpoint: Standpoint, at: Located, relation: Relation, progress: Progress | None = None
) -> dict[str, Any]:
    """Return the tasks that are related to one. Raises: NotFound, ProjectNotFound, PermissionDenied."""
    within = _within(standpoint, relation.scope)

    def look(network: Network) -> list[dict[str, Any]]:
        answer = related(network.index, network.row(at), Asked(relation.method, relation.least, relation.context))
        return ranked(answer, network.names, lambda one: network.may_read(one) and within(one), relation.limit)

    results = with_network(standpoint, look, progress)
    return {"taskId": at.task_id, "ref": at.ref, "project": at.project.name, "method": relation.method,
            "results": results}  # fmt: skip


def searched(standpoint: Standpoint, sought: Sought, progress: Progress | None = None) -> dict[str, Any]:
    """Return the tasks that hold every word, the best first. Raises: BadUsage, ProjectNotFound, PermissionDenied."""
    words = sought.words.strip()
    if not (words or sought.id or sought.statuses or sought.labels):
        raise BadUsage("say what to search for", hint="words, or an id, a status or a label")
    name, _, wanted = sought.id.rpartition(":")
    within = _within(standpoint, sought.scope if name in ("", "*") else "current" if name == "." else name)

    def look(network: Network) -> dict[str, Any]:
        names = {one: name for one, name in network.names.items() if network.may_read(one) and within(one)}
        asked = Wanted(names, sought.statuses, frozenset(sought.labels), wanted)
        rows, total = found(network.index, words, asked, sought.limit)
        return {"results": [result(score, row, names) for score, row in rows], "total": total}

    return with_network(standpoint, look, progress)


def _within(standpoint: Standpoint, scope: str) -> Callable[[str], bool]:
    """Return which projects a scope means. Raises: ProjectNotFound, PermissionDenied, NotFound."""
    if scope == "all":
        return lambda project: True
    wanted = standpoint.find("." if scope == "current" else scope)
    standpoint.require(Operation.SEARCH, wanted)
    return lambda project: project == wanted.hash
