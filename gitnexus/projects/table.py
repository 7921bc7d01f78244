"""The tools about projects, written by hand. An agent sees what its project may read, and grants itself nothing."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.tool import Param, Tool
from gitnexus.projects.overview import readable, shown
from gitnexus.projects.standpoint import Standpoint


def _projects(standpoint: Standpoint, _params: Mapping[str, Any]) -> dict[str, Any]:
    current = standpoint.current
    found = {"projects": [one.plain() for one in readable(standpoint)]}
    return {**found, "current": current.name} if current else found


def _project_show(standpoint: Standpoint, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"project": shown(standpoint, params["name"]).plain()}


_ALL = (
    Tool(
        "projects",
        "List the projects that this one may read, how they are, and which permission it holds on each.",
        (),
        _projects,
        reads_only=True,
    ),
    Tool(
        "project_show",
        "Show one project.",
        (Param("name", "text", "Its name, an alias, 4 to 12 digits of its hash, or . for this one.", required=True),),
        _project_show,
        reads_only=True,
    ),
)

TOOLS: dict[str, Tool[Standpoint]] = {tool.name: tool for tool in _ALL}
