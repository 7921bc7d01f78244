"""The way through `git nexus mcp`: the SDK's own client over stdio, one server a fixture."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid
from gitnexus.conformance.sandbox import FixtureSandbox, opened_sandbox
from gitnexus.conformance.transport import Caller, ToolAnswer, check_answer

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

PREFIX = "nx_"
_PATIENCE = 60.0


class McpTransport:
    """A transport."""

    name = "mcp"

    @asynccontextmanager
    async def open(self, place: FixtureSandbox) -> AsyncIterator[Caller]:
        """Start a server in the sandbox's repository; it is stopped at the end."""
        async with connected_client(place) as client:
            yield _McpCaller(client)


@asynccontextmanager
async def connected_client(place: FixtureSandbox) -> AsyncIterator["Client"]:
    """Return a client of a server that runs in the sandbox. Raises: Failed if it does not come up or breaks off."""
    from mcp import Client, MCPError, StdioServerParameters, stdio_client  # a second to import

    server = StdioServerParameters(
        command="git", args=["nexus", "mcp"], env=dict(place.environment), cwd=place.repository
    )
    how = "does not start"
    try:
        with place.log.open("w") as log:
            async with Client(stdio_client(server, errlog=log), read_timeout_seconds=_PATIENCE) as client:
                how = "breaks off"
                yield client
    except (MCPError, OSError, ExceptionGroup) as exc:
        # The SDK's task groups wrap whatever is raised inside them, what we raised ourselves too.
        causes = _flatten_causes(exc)
        if not all(isinstance(cause, (MCPError, OSError, Failed)) for cause in causes):
            raise
        raise Failed(f"git nexus mcp {how}: {causes[0]}; {_last_log_line(place)}") from exc


async def list_all_tools(client: "Client") -> "list[Tool]":
    """Return every tool that the server lists, page by page."""
    found: list[Tool] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def list_tool_parameters() -> frozenset[tuple[str, str]]:
    """Return the parameters of all tools, as tool and name, from the schemas that a server lists."""
    with opened_sandbox("any") as place:
        async with connected_client(place) as client:
            rows = [(tool.name.removeprefix(PREFIX), tool.input_schema) for tool in await list_all_tools(client)]
    return frozenset((tool, name) for tool, schema in rows for name in schema.get("properties", {}))


class _McpCaller:
    def __init__(self, client: "Client") -> None:
        self._client = client

    async def names(self) -> frozenset[str]:
        return frozenset(tool.name.removeprefix(PREFIX) for tool in await list_all_tools(self._client))

    async def call(self, tool: str, params: Mapping[str, Any]) -> ToolAnswer:
        from mcp import MCPError

        try:
            result = await self._client.call_tool(PREFIX + tool, dict(params))
        except MCPError as exc:
            return ToolAnswer(None, failed=True, broken=f"the server answers with a protocol error: {exc}")
        except ValueError as exc:
            return ToolAnswer(None, failed=True, broken=f"the SDK's client refuses the answer: {exc}")
        return parse_tool_result(result)


def parse_tool_result(result: "CallToolResult") -> ToolAnswer:
    """Return the answer in a tool result: one text block of JSON, and the same as structured content."""
    texts = [block.text for block in result.content if block.type == "text"]
    if len(texts) != 1 or len(result.content) != 1:
        return ToolAnswer(None, result.is_error, f"the answer has {len(result.content)} blocks, not one of text")
    try:
        value = parse_json(texts[0].encode("utf-8", "surrogatepass"))
    except Invalid as exc:
        return ToolAnswer(None, result.is_error, f"the answer's text is {exc.message}: {texts[0][:120]!r}")
    structured = result.structured_content
    if structured != value and not (result.is_error and structured is None):
        return ToolAnswer(value, result.is_error, "the answer's structured content is not what its text says")
    return check_answer(value, result.is_error)


def _flatten_causes(exc: Exception) -> list[Exception]:
    if isinstance(exc, ExceptionGroup):
        return [cause for one in exc.exceptions for cause in _flatten_causes(one)]
    return [exc]


def _last_log_line(place: FixtureSandbox) -> str:
    lines = place.log.read_text(errors="replace").strip().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    return [*lines, *errors][-1] if lines else "nothing on stderr"
