"""A tool's parameters as JSON Schema, and a tool as MCP describes it."""

from typing import Any

from mcp import types

from gitnexus.base.tool import Param, Tool

PREFIX = "nx_"
_NUMBER: dict[str, Any] = {"type": ["integer", "string"]}  # clients send numbers as text; both are understood
_KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": _NUMBER,
    "fraction": {"type": ["number", "string"]},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": _NUMBER},
    "text map": {"type": "object", "additionalProperties": {"type": "string"}},
}


def described(tool: Tool[Any], prefix: str = PREFIX) -> types.Tool:
    """Return a tool as a client lists it."""
    return types.Tool(
        name=prefix + tool.name,
        description=tool.words,
        input_schema=input_schema(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.reads_only,
            open_world_hint=False,
        ),
    )


def input_schema(tool: Tool[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters."""
    return _object(tool.params)


def _object(params: tuple[Param, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {param.name: _of(param) for param in params},
        "additionalProperties": False,
    }
    required = [param.name for param in params if param.required]
    return {**schema, "required": required} if required else schema


def _of(param: Param) -> dict[str, Any]:
    if param.kind == "objects":
        return {"type": "array", "items": _object(param.fields), "description": param.words}
    schema = {**_KINDS[param.kind], "description": param.words}
    return {**schema, "enum": list(param.choices)} if param.choices else schema
