"""A call of our MCP server beside an echo tool of the same SDK, and the two servers' first answers."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from measure import Ratio, rounds_of

ECHO = """
import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def listed(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])

async def called(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="{}")], structured_content={})

async def main():
    server = Server("echo", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())

anyio.run(main)
"""
CALLS = 200
STARTS = 5


async def _timed(client: ClientSession, name: str, params: dict[str, Any]) -> float:
    start = time.perf_counter()
    answer = await client.call_tool(name, params)
    assert not answer.is_error
    return time.perf_counter() - start


async def _calls(place: Path, script: Path) -> list[Ratio]:
    """Both servers at once, called in turn."""
    echo = StdioServerParameters(command=sys.executable, args=[str(script)], cwd=place)
    ours = StdioServerParameters(command="git-nexus", args=["mcp"], cwd=place)
    async with (
        stdio_client(echo) as (r1, w1),
        ClientSession(r1, w1) as bare,
        stdio_client(ours) as (r2, w2),
        ClientSession(r2, w2) as nexus,
    ):
        await bare.initialize()
        await nexus.initialize()
        found = []
        for name, params, limit in (
            ("nx_plan_status", {}, 1.5),
            ("nx_task_add", {"title": "t", "context": "c"}, 4.0),
        ):
            mine, theirs = [], []
            for _ in range(rounds_of(CALLS)):
                theirs.append(await _timed(bare, "echo", {}))
                mine.append(await _timed(nexus, name, params))
            found.append(Ratio(name, "an echo tool", statistics.median(mine), statistics.median(theirs), limit))
        return found


async def _first_answer(server: StdioServerParameters, tool: str) -> float:
    start = time.perf_counter()
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as client:
        await client.initialize()
        await client.call_tool(tool, {})
        return time.perf_counter() - start


async def _starts(place: Path, script: Path) -> Ratio:
    echo = StdioServerParameters(command=sys.executable, args=[str(script)], cwd=place)
    ours = StdioServerParameters(command="git-nexus", args=["mcp"], cwd=place)
    mine, theirs = [], []
    for _ in range(rounds_of(STARTS)):
        theirs.append(await _first_answer(echo, "echo"))
        mine.append(await _first_answer(ours, "nx_plan_status"))
    return Ratio("start to first answer", "a bare SDK server", statistics.median(mine), statistics.median(theirs), 1.5)


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        place, script = Path(folder, "repository"), Path(folder, "echo.py")
        script.write_text(ECHO)
        subprocess.run(["git", "init", "-q", str(place)], check=True)
        yield from asyncio.run(_calls(place, script))
        yield asyncio.run(_starts(place, script))
