"""`git nexus conformance`: do the tools keep the contract, seen from outside?"""

import sys
from typing import TYPE_CHECKING

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand, invocation
from gitnexus.ui.output import answer, start_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitnexus.conformance.coverage import Share
    from gitnexus.conformance.load import Loaded
    from gitnexus.conformance.run import Result
    from gitnexus.conformance.transport import Transport


@click.command("conformance", cls=NexusCommand)
@click.argument("place", metavar="[DIR]", required=False)
@click.option("--transport", type=click.Choice(["mcp", "tool", "both"]), default="mcp", show_default=True,
              help="Through the MCP server, git nexus tool, or each in turn.")  # fmt: skip
@click.option("--coverage", is_flag=True, help="Tell which parameters and fields no fixture touches.")
@click.pass_context
def conformance(ctx: click.Context, place: str | None, transport: str, coverage: bool) -> None:
    """Run fixtures of the tool contract against the real tools, each in a fresh repository.

    DIR is a folder with tools, scenarios and lifecycle, or one file; without it our own fixtures are run. Leaves with
    status 1 if one fails, and for our own with --coverage also if anything is left untouched. Nothing is skipped.
    """
    from gitnexus.conformance.load import home, load
    from gitnexus.conformance.run import run

    asked = invocation(ctx)
    loaded = load(start_folder(asked) / expand_home(place) if place else home())
    several = transport == "both"
    results = run(
        loaded, _transports(transport), lambda one: None if asked.as_json else click.echo(_line(one, several))
    )
    failed = sum(one.status == "failed" for one in results)
    shares = _shares(loaded, results) if coverage else ()
    lines = [f"{len(results) - failed} passed, {failed} failed, 0 skipped", *_coverage_lines(shares)]
    answer(
        {
            "passed": len(results) - failed,
            "failed": failed,
            "skipped": 0,
            "tests": [
                {"id": one.test_id, "status": one.status, "why": one.why, "transport": one.transport} for one in results
            ],
            **({"coverage": [_share(share) for share in shares]} if coverage else {}),
        },
        "\n".join(lines),
    )
    untouched = place is None and any(share.untouched for share in shares)
    sys.exit(1 if failed or untouched else 0)


def _transports(name: str) -> "list[Transport]":
    from gitnexus.conformance.mcpserver import McpServer
    from gitnexus.conformance.toolcommand import ToolCommand

    shelf: dict[str, list[Transport]] = {"mcp": [McpServer()], "tool": [ToolCommand()]}
    return shelf[name] if name in shelf else [*shelf["mcp"], *shelf["tool"]]


def _shares(loaded: "Sequence[Loaded]", results: "Sequence[Result]") -> "tuple[Share, ...]":
    import asyncio

    from gitnexus.conformance.coverage import coverage, schemas_in
    from gitnexus.conformance.load import home
    from gitnexus.conformance.mcpserver import parameters

    fixtures = [one.fixture for one in loaded if one.fixture is not None]
    return coverage(fixtures, results, asyncio.run(parameters()), schemas_in(home() / "schemas"))


def _line(one: "Result", several: bool) -> str:
    name = f"{one.test_id} ({one.transport})" if several else one.test_id
    if one.status == "passed":
        return f"{click.style('ok', fg='green')}    {one_line(name)}"
    return f"{click.style('FAIL', fg='red')}  {one_line(name)}: {one_line(one.why, 400)}"


def _coverage_lines(shares: "Sequence[Share]") -> list[str]:
    counts = [f"{share.total - len(share.untouched)} of {share.total} {share.kind}s" for share in shares]
    return [
        *([f"touched: {', '.join(counts)}"] if counts else []),
        *(f"untouched {share.kind}  {one_line(name)}" for share in shares for name in share.untouched),
    ]


def _share(share: "Share") -> dict[str, object]:
    return {"kind": share.kind, "total": share.total, "untouched": list(share.untouched)}
