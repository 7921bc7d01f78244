"""The tools about the graph of all projects, written by hand. They only read, and only what the project may read."""

from collections.abc import Mapping
from typing import Any

from gitnexus.app.answers import dependencies, located
from gitnexus.app.lookup import METHODS, Relation, Sought, discovered, searched
from gitnexus.base.errors import Invalid
from gitnexus.base.tool import Param, Tool
from gitnexus.projects.operations import Operation
from gitnexus.projects.standpoint import Standpoint

_STATUSES = ("pending", "active", "blocked", "done", "cancelled")
_REF = Param("ref", "text", "T12, or my-api:T12 for a task of another project.", required=True)
_SCOPE = Param("scope", "text", "all projects that may be read, current, or the name of one; all if not said.")
_LIMIT = Param("limit", "number", "How many at most, up to 1000; 20 if not said.")
_MOST = 1000


def _deps(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    return dependencies(standpoint, located(standpoint, params["ref"], Operation.DEPS), both_ways=True)


def _discover(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    threshold = params.get("threshold")
    if threshold is not None and not 0 <= threshold <= 1:
        raise Invalid("threshold should be from 0 to 1")
    method, scope, context = params.get("method", "auto"), params.get("scope", "all"), params.get("context", False)
    relation = Relation(method, scope, threshold, _limit(params), context)
    return discovered(standpoint, located(standpoint, params["ref"], Operation.DISCOVER), relation)


def _search(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    status, label = params.get("status"), params.get("label")
    return searched(
        standpoint,
        Sought(
            params.get("query", ""),
            params.get("scope", "all"),
            params.get("id", ""),
            statuses=(status,) if status else (),
            labels=(label,) if label else (),
            limit=_limit(params),
        ),
    )


def _limit(params: Mapping[str, Any]) -> int:
    limit: int = params.get("limit", 20)
    if not 1 <= limit <= _MOST:
        raise Invalid(f"limit should be from 1 to {_MOST}")
    return limit


_ALL = (
    Tool(
        "deps",
        "Show what a task waits for and what waits for it, in whatever project that is.",
        (_REF,),
        _deps,
        reads_only=True,
    ),
    Tool(
        "discover",
        "Find tasks of all projects that are related to one: shared labels, words, files or parents.",
        (
            _REF,
            Param("method", "text", "What tasks are compared by; auto if not said.", choices=METHODS),
            _SCOPE,
            Param("threshold", "fraction", "The least score, from 0 to 1; 0.6 if not said, 0 for hierarchy."),
            _LIMIT,
            Param("context", "flag", "Let the words of parents count too, half a level."),
        ),
        _discover,
        reads_only=True,
    ),
    Tool(
        "search",
        "Find tasks of all projects by the words of id, title, labels and description; * stands for anything.",
        (
            Param("query", "text", "Words; none are needed where an id, a status or a label is said."),
            _SCOPE,
            Param("id", "text", "This id: T12, *:T12, my-api:T12; * within it stands for anything."),
            Param("status", "text", "Only these.", choices=_STATUSES),
            Param("label", "text", "Only those that have it."),
            _LIMIT,
        ),
        _search,
        reads_only=True,
    ),
)

TOOLS: dict[str, Tool[Standpoint]] = {tool.name: tool for tool in _ALL}
