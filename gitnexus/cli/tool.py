"""`git nexus tool`: call one of the tools that agents use."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from gitnexus.app.tools import TOOLS, ToolSession, call_session_tool
from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.policy.signed import TOOLS as TOOLS_FILE
from gitnexus.projects.open_project import open_nexus
from gitnexus.projects.open_session import open_session
from gitnexus.ui.approval_prompt import is_person_at_terminal, person_at_terminal
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import start_folder


@click.command("tool", cls=NexusCommand)
@click.argument("name", required=False)
@click.argument("params", metavar="[JSON|-]", required=False)
@click.pass_context
def call_or_list_tools(ctx: click.Context, name: str | None, params: str | None) -> None:
    """Call one of the tools that agents use.

    NAME is plan_start, task_add and so on, a tool of the gateway such as repo.read_file and cmd.run, or PACK.TOOL of
    the project; without it the tools are listed. The parameters are a JSON object, or - to read it from stdin. Prints
    the tool's own JSON, without our envelope; an error is {"error": …} and a status other than 0.

    The policy judges first what a tool of the gateway would change; if it asks, you see a card.
    """
    if name is None:
        click.echo(_format_tools(start_folder(current_invocation(ctx))))
        return
    try:
        answer = _call_tool(start_folder(current_invocation(ctx)), name, params)
    except NexusError as exc:
        click.echo(json.dumps({"error": exc.message}, ensure_ascii=False))
        sys.exit(exc.code)
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def _call_tool(folder: Path, name: str, params: str | None) -> dict[str, Any]:
    raw = sys.stdin.buffer.read() if params == "-" else (params or "{}").encode("utf-8", "surrogateescape")
    given = parse_json(raw)
    if not isinstance(given, dict):
        raise Invalid("the parameters should be a JSON object")
    if "." in name:
        return _call_through_gateway(folder, name, given)

    session = open_session(folder, os.environ.get("NEXUS_HARNESS"))
    try:
        return call_session_tool(ToolSession(session), name, given)
    finally:
        session.state.close()


def _format_tools(folder: Path) -> str:
    from gitnexus.gateway.table import TOOLS as GATEWAY

    rows = [*TOOLS.values(), *GATEWAY.values(), *_project_tools(folder)]
    width = max(len(row.name) for row in rows)
    return "\n".join(f"{row.name.ljust(width)}  {row.words}" for row in rows)


def _project_tools(folder: Path) -> list[Any]:
    """Return the project's own tools; none outside of a project, or if their file is wrong."""
    with contextlib.suppress(NexusError):
        nexus = open_nexus(folder)
        try:
            if nexus.state.latest().read(TOOLS_FILE) is None:
                return []
            from gitnexus.gateway.project_tools import gateway_project_tools  # loads pydantic

            return [*gateway_project_tools(nexus.state).values()]
        finally:
            nexus.close()
    return []


def _call_through_gateway(folder: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    from gitnexus.gateway.assemble import terminal_tool_context
    from gitnexus.gateway.project_tools import gateway_project_tools
    from gitnexus.gateway.table import TOOLS, call_tool

    nexus = open_nexus(folder)
    try:
        person = person_at_terminal() if is_person_at_terminal() else None
        own = {} if name in TOOLS else gateway_project_tools(nexus.state)
        return call_tool(terminal_tool_context(nexus.state, person), name, given, own)
    finally:
        nexus.close()
