"""`git nexus tool`: one tool, exactly as an agent calls it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import start_folder


@click.command("tool", cls=NexusCommand)
@click.argument("name", required=False)
@click.argument("params", metavar="[JSON|-]", required=False)
@click.pass_context
def tool(ctx: click.Context, name: str | None, params: str | None) -> None:
    """Call one of the tools that agents use.

    NAME is plan_start, task_add and so on; without it the tools are listed. The parameters are a JSON object, or - to
    read it from stdin. Prints the tool's own JSON, without our envelope; an error is {"error": …} and a status that is
    not 0.
    """
    from gitnexus.app.tools import TOOLS
    from gitnexus.base.errors import NexusError

    if name is None:
        width = max(map(len, TOOLS))
        click.echo("\n".join(f"{row.name.ljust(width)}  {row.words}" for row in TOOLS.values()))
        return
    try:
        answer = _called(start_folder(invocation(ctx)), name, params)
    except NexusError as exc:
        click.echo(json.dumps({"error": exc.message}, ensure_ascii=False))
        sys.exit(exc.code)
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def _called(place: Path, name: str, params: str | None) -> dict[str, Any]:
    from gitnexus.app.session import open_session
    from gitnexus.app.tools import Desk, call
    from gitnexus.base.canonical import parse
    from gitnexus.base.errors import Invalid

    raw = sys.stdin.buffer.read() if params == "-" else (params or "{}").encode("utf-8", "surrogateescape")
    given = parse(raw)
    if not isinstance(given, dict):
        raise Invalid("the parameters should be a JSON object")
    session = open_session(place, os.environ.get("NEXUS_HARNESS"))
    try:
        return call(Desk(session), name, given)
    finally:
        session.state.close()
