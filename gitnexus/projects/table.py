"""Table of the tools about projects. An agent sees what its project may read, and cannot grant itself anything."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.tool import NO_PARAMETERS, Tool
from gitnexus.projects.overview import list_readable_views, show_project
from gitnexus.projects.standpoint import Standpoint


def _projects_tool(standpoint: Standpoint, _params: Mapping[str, Any]) -> dict[str, Any]:
    current = standpoint.current
    found = {"projects": [one.plain() for one in list_readable_views(standpoint)]}
    return {**found, "current": current.name} if current else found


def _project_show_tool(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"project": show_project(standpoint, params["name"]).plain()}


_FORMS = "gitnexus.projects.parameters"
_RESULTS = "gitnexus.projects.results"

_ALL = (
    Tool(
        "projects",
        "List the projects that this one may read, how they are, and which permission it holds on each.",
        NO_PARAMETERS,
        _projects_tool,
        reads_only=True,
        result=f"{_RESULTS}:ProjectsResult",
    ),
    Tool(
        "project_show",
        "Show one project.",
        f"{_FORMS}:ProjectShowParameters",
        _project_show_tool,
        reads_only=True,
        result=f"{_RESULTS}:ProjectShowResult",
    ),
)

TOOLS: dict[str, Tool[Standpoint]] = {tool.name: tool for tool in _ALL}
