"""`git nexus conformance`: run fixtures of the tool contract against the real tools, each in a fresh repository."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.conformance.coverage import compute_coverage, read_schemas
from gitnexus.conformance.load import LoadedFixture, fixtures_home, load_fixtures
from gitnexus.conformance.mcpserver import McpTransport, list_tool_parameters
from gitnexus.conformance.run import FixtureResult, run_fixtures
from gitnexus.conformance.toolcommand import ToolTransport
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, start_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitnexus.conformance.coverage import CoverageShare
    from gitnexus.conformance.transport import Transport


@click.command("conformance", cls=NexusCommand)
@click.argument("place", metavar="[DIR]", required=False)
@click.option(
    "--transport",
    type=click.Choice(["mcp", "tool", "both"]),
    default="mcp",
    show_default=True,
    help="Through the MCP server, git nexus tool, or each in turn.",
)
@click.option("--coverage", is_flag=True, help="List the parameters and fields that no fixture covers.")
@click.pass_context
def run_conformance(ctx: click.Context, place: str | None, transport: str, coverage: bool) -> None:
    """Run fixtures of the tool contract against the real tools, each in a fresh repository.

    DIR is a folder with tools, scenarios and lifecycle, or one file; without it the built-in fixtures are run. Exits
    with status 1 if one fails and, for the built-in ones with --coverage, if any tool or field is not covered. Nothing
    is skipped.
    """
    asked = current_invocation(ctx)
    loaded = load_fixtures(start_folder(asked) / expand_home(place) if place else fixtures_home())
    several = transport == "both"
    results = run_fixtures(
        loaded,
        _choose_transports(transport),
        lambda one: None if asked.as_json else click.echo(_format_result(one, several)),
    )
    failed = sum(one.status == "failed" for one in results)
    shares = _coverage_shares(loaded, results) if coverage else ()
    lines = [f"{len(results) - failed} passed, {failed} failed, 0 skipped", *_format_coverage(shares)]
    print_answer(
        {
            "passed": len(results) - failed,
            "failed": failed,
            "skipped": 0,
            "tests": [
                {"id": one.test_id, "status": one.status, "why": one.why, "transport": one.transport} for one in results
            ],
            **({"coverage": [_share_as_json(share) for share in shares]} if coverage else {}),
        },
        "\n".join(lines),
    )
    untouched = place is None and any(share.untouched for share in shares)
    sys.exit(1 if failed or untouched else 0)


def _choose_transports(name: str) -> "list[Transport]":
    transports: dict[str, list[Transport]] = {"mcp": [McpTransport()], "tool": [ToolTransport()]}
    return transports[name] if name in transports else [*transports["mcp"], *transports["tool"]]


def _coverage_shares(
    loaded: "Sequence[LoadedFixture]", results: "Sequence[FixtureResult]"
) -> "tuple[CoverageShare, ...]":
    fixtures = [one.fixture for one in loaded if one.fixture is not None]
    return compute_coverage(
        fixtures, results, asyncio.run(list_tool_parameters()), read_schemas(fixtures_home() / "schemas")
    )


def _format_result(one: "FixtureResult", several: bool) -> str:
    name = f"{one.test_id} ({one.transport})" if several else one.test_id
    if one.status == "passed":
        return f"{click.style('ok', fg='green')}    {one_line(name)}"
    return f"{click.style('FAIL', fg='red')}  {one_line(name)}: {one_line(one.why, 400)}"


def _format_coverage(shares: "Sequence[CoverageShare]") -> list[str]:
    counts = [f"{share.total - len(share.untouched)} of {share.total} {share.kind}s" for share in shares]
    return [
        *([f"touched: {', '.join(counts)}"] if counts else []),
        *(f"untouched {share.kind}  {one_line(name)}" for share in shares for name in share.untouched),
    ]


def _share_as_json(share: "CoverageShare") -> dict[str, object]:
    return {"kind": share.kind, "total": share.total, "untouched": list(share.untouched)}
