"""`git nexus tool`: one tool, exactly as an agent calls it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from gitnexus.ui.asking import can_ask, person
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import start_folder


@click.command("tool", cls=NexusCommand)
@click.argument("name", required=False)
@click.argument("params", metavar="[JSON|-]", required=False)
@click.pass_context
def tool(ctx: click.Context, name: str | None, params: str | None) -> None:
    """Call one of the tools that agents use.

    NAME is plan_start, task_add and so on, or one of the gateway's such as repo.read_file and cmd.run; without it the
    tools are listed. The parameters are a JSON object, or - to read it from stdin. Prints the tool's own JSON, without
    our envelope; an error is {"error": …} and a status that is not 0.

    What a tool of the gateway would change is judged by the policy first; where it asks, you see a card.
    """
    from gitnexus.base.errors import NexusError

    if name is None:
        click.echo(_listed())
        return
    try:
        answer = _called(start_folder(invocation(ctx)), name, params)
    except NexusError as exc:
        click.echo(json.dumps({"error": exc.message}, ensure_ascii=False))
        sys.exit(exc.code)
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def _called(place: Path, name: str, params: str | None) -> dict[str, Any]:
    from gitnexus.base.canonical import parse
    from gitnexus.base.errors import Invalid

    raw = sys.stdin.buffer.read() if params == "-" else (params or "{}").encode("utf-8", "surrogateescape")
    given = parse(raw)
    if not isinstance(given, dict):
        raise Invalid("the parameters should be a JSON object")
    if "." in name:
        return _through_the_gateway(place, name, given)
    from gitnexus.app.session import open_session
    from gitnexus.app.tools import Desk, call

    session = open_session(place, os.environ.get("NEXUS_HARNESS"))
    try:
        return call(Desk(session), name, given)
    finally:
        session.state.close()


def _listed() -> str:
    from gitnexus.app.tools import TOOLS
    from gitnexus.gateway.table import TOOLS as GATEWAY

    rows = [*TOOLS.values(), *GATEWAY.values()]
    width = max(len(row.name) for row in rows)
    return "\n".join(f"{row.name.ljust(width)}  {row.words}" for row in rows)


def _through_the_gateway(place: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    from gitnexus.app.bench import terminal_bench
    from gitnexus.app.open import open_nexus
    from gitnexus.gateway.table import call

    nexus = open_nexus(place)
    try:
        return call(terminal_bench(nexus.state, person() if can_ask() else None), name, given)
    finally:
        nexus.close()
