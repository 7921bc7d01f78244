"""Describes a tool in MCP's form."""

from typing import Any

from mcp import types

from gitnexus.base.tool import Tool, input_schema_of

PREFIX = "nx_"


def describe_tool(tool: Tool[Any], prefix: str = PREFIX) -> types.Tool:
    """Return a tool in the form in which a client lists it."""
    return types.Tool(
        name=prefix + tool.name,
        description=tool.words,
        input_schema=input_schema_of(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.reads_only,
            open_world_hint=False,
        ),
    )
