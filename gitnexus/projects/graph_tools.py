"""Table of the tools that query the graph of all projects; they only read what the project may read."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.base.tool import Tool
from gitnexus.projects.graph_json import dependencies_json, locate_readable_task
from gitnexus.projects.operations import Operation
from gitnexus.projects.search_json import RelationQuery, SearchQuery, discover_tasks, search_tasks
from gitnexus.projects.standpoint import Standpoint

_MOST = 1000


def _deps_tool(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    return dependencies_json(
        standpoint, locate_readable_task(standpoint, params["ref"], Operation.DEPS), both_ways=True
    )


def _discover_tool(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    threshold = params.get("threshold")
    if threshold is not None and not 0 <= threshold <= 1:
        raise Invalid("threshold should be from 0 to 1")
    method, scope, context = params.get("method", "auto"), params.get("scope", "all"), params.get("context", False)
    relation = RelationQuery(method, scope, threshold, _limit_param(params), context)
    return discover_tasks(standpoint, locate_readable_task(standpoint, params["ref"], Operation.DISCOVER), relation)


def _search_tool(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    status, label = params.get("status"), params.get("label")
    return search_tasks(
        standpoint,
        SearchQuery(
            params.get("query", ""),
            params.get("scope", "all"),
            params.get("id", ""),
            statuses=(status,) if status else (),
            labels=(label,) if label else (),
            limit=_limit_param(params),
        ),
    )


def _limit_param(params: Mapping[str, Any]) -> int:
    limit: int = params.get("limit", 20)
    if not 1 <= limit <= _MOST:
        raise Invalid(f"limit should be from 1 to {_MOST}")
    return limit


_FORMS = "gitnexus.projects.parameters"
_RESULTS = "gitnexus.projects.results"

_ALL = (
    Tool(
        "deps",
        "Show what a task waits for and what waits for it, in whatever project that is.",
        f"{_FORMS}:TaskDepsParameters",
        _deps_tool,
        reads_only=True,
        result=f"{_RESULTS}:TaskDepsResult",
    ),
    Tool(
        "discover",
        "Find tasks of all projects that are related to one: shared labels, words, files or parents.",
        f"{_FORMS}:TaskDiscoverParameters",
        _discover_tool,
        reads_only=True,
        result=f"{_RESULTS}:TaskDiscoverResult",
    ),
    Tool(
        "search",
        "Find tasks of all projects by the words of id, title, labels and description; * matches anything.",
        f"{_FORMS}:TaskSearchParameters",
        _search_tool,
        reads_only=True,
        result=f"{_RESULTS}:TaskSearchResult",
    ),
)

TOOLS: dict[str, Tool[Standpoint]] = {tool.name: tool for tool in _ALL}
