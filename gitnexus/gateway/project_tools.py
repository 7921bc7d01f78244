"""Offers the tools of `tools.json` on the state ref, if an approver signed the file: as rows like the gateway's own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.base.tool import Tool
from gitnexus.gateway.commanding import CommandAction
from gitnexus.gateway.execute import execute_through_gate
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.gateway.toolpacks import (
    PackTool,
    ToolPacks,
    argv_for_call,
    describe_effects,
    parameters_of_tool,
    parse_tool_packs,
)
from gitnexus.policy.signed import TOOLS, SignedFiles
from gitnexus.state import State

_RESULT = "gitnexus.gateway.results:CmdRunResult"
_GATEWAY = {
    "summary": "What it is for. Shown to the approver, and not trusted.",
    "approval": "The token of an approval that was given for exactly this.",
}


@dataclass(frozen=True, slots=True)
class ProjectPacks:
    """The packs of a project. `why_not` says why they are not offered, "" if they are; `packs` may be read anyway."""

    packs: ToolPacks
    why_not: str = ""

    @property
    def offered(self) -> dict[str, PackTool]:
        """The tools that may be called, by name."""
        return {} if self.why_not else self.packs.by_name()


def read_project_packs(state: State) -> ProjectPacks:
    """Return the packs of a project, and whether they count here. Raises: Invalid, for a signed file that is wrong."""
    snapshot = state.latest()
    raw = snapshot.read(TOOLS)
    if raw is None:
        return ProjectPacks(ToolPacks(version=1))
    standing = SignedFiles(snapshot, state.repo.common_dir).trust_of(TOOLS, raw)
    try:
        return ProjectPacks(parse_tool_packs(raw, f".nexus/{TOOLS}"), standing.why)
    except Invalid as exc:
        if standing.trusted:
            raise
        return ProjectPacks(ToolPacks(version=1), f"{standing.why}; and it is wrong: {exc.message}")


def gateway_project_tools(state: State) -> dict[str, Tool[ToolContext]]:
    """Return the project's tools for the gateway, by the names PACK.TOOL. Raises: Invalid."""
    return {
        name: replace(make_tool_row(name, tool, _GATEWAY, partial(_run_in_gateway, name, tool)), result=_RESULT)
        for name, tool in read_project_packs(state).offered.items()
    }


def summary_of_call(name: str, tool: PackTool, said: str) -> str:
    """Return what a card says about a call: the tool, what it does, and its effects as its author declared them."""
    effects = describe_effects(tool)
    return f"{said or tool.about} ({name}{': ' + effects if effects else ''})"


def make_tool_row(
    name: str, tool: PackTool, common: Mapping[str, str], run: Callable[[Any, Mapping[str, Any]], dict[str, Any]]
) -> Tool[Any]:
    """Return a tool of a pack as a row like ours; `run` runs it, `common` are the parameters that it has besides."""
    effects = describe_effects(tool)
    words = f"{tool.about} A tool of this project{': ' + effects if effects else ''}."
    # Like any command it may do whatever the sandbox allows, whatever its author says of it.
    return Tool(name, words, partial(parameters_of_tool, tool, common), run, destructive=True)


def _run_in_gateway(name: str, tool: PackTool, context: ToolContext, given: Mapping[str, Any]) -> dict[str, Any]:
    action = CommandAction(
        context,
        argv_for_call(tool, given),
        summary_of_call(name, tool, given.get("summary", "")),
        cwd=tool.cwd,
        limits={"seconds": tool.seconds},
        network=tool.network,
        reads=tool.reads,
        writes=tool.writes,
    )
    return execute_through_gate(context.gate, action, given.get("approval", ""))
