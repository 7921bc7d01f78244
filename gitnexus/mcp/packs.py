"""Offers the tools of the project's own packs on its server: described like ours, judged and run by the gateway."""

from collections.abc import Mapping
from typing import Any

from mcp import types

from gitnexus.app.tools import TOOLS
from gitnexus.base.errors import NexusError, NotFound
from gitnexus.base.tool import Tool, check_parameters, check_result
from gitnexus.gateway.assemble import agent_tool_context
from gitnexus.gateway.project_tools import gateway_project_tools
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git import Repo
from gitnexus.mcp.describe import PREFIX, describe_tool
from gitnexus.projects.open_state import open_state
from gitnexus.state import State


def describe_pack_tools(state: State) -> list[types.Tool]:
    """Return the tools that the project offers, none if their file is wrong: ours work without them."""
    try:
        return [describe_tool(tool, "").model_copy(update={"name": name}) for name, tool in _pack_tools(state).items()]
    except NexusError:
        return []


def call_pack_tool(repo: Repo, harness: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool of a pack as an agent does. Raises: NotFound, ApprovalNeeded, and what the command raises."""
    state = open_state(repo)
    try:
        tool = _pack_tools(state).get(name)
        if tool is None:
            raise NotFound(f"there is no tool {name!r}")
        answer = tool.run(agent_tool_context(state, harness), check_parameters(tool, given))
        return check_result(tool, answer)
    finally:
        state.close()


def is_pack_name(name: str) -> bool:
    """Return True for a name that none of our own tools has."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) not in TOOLS


def _pack_tools(state: State) -> dict[str, Tool[ToolContext]]:
    """Return the tools by the names nx_PACK_TOOL: not every client takes a dot, and gates know ours by that form."""
    rows = {
        PREFIX + name.replace(".", "_").replace("-", "_"): tool for name, tool in gateway_project_tools(state).items()
    }
    return {name: tool for name, tool in rows.items() if is_pack_name(name)}
