"""Describes a tool in MCP's form."""

from typing import Any

from mcp import types

from gitnexus.base.results import ToolError
from gitnexus.base.tool import Tool, input_schema_of, output_schema_of

PREFIX = "nx_"


# Some clients check what a tool answers against its schema also if the answer is marked as an error.
_ERROR = ToolError.output_schema()


def describe_tool(tool: Tool[Any], prefix: str = PREFIX) -> types.Tool:
    """Return a tool in the form in which a client lists it."""
    return types.Tool(
        name=prefix + tool.name,
        description=tool.words,
        input_schema=input_schema_of(tool),
        output_schema=_with_error_form(output_schema_of(tool)),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.reads_only,
            open_world_hint=False,
        ),
    )


def _with_error_form(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"type": "object", "anyOf": [*schema.get("anyOf", [schema]), _ERROR]} if schema else None
