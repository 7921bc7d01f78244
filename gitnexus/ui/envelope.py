"""Builds the flat JSON envelope of a command's output: one document, success or failure."""

import json
from typing import Any

from gitnexus import __version__
from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import NexusError

_LONG = 200
SCHEMA = "urn:git-nexus:output:1"


def success_document(command: str, project: dict[str, str] | None, payload: dict[str, Any]) -> str:
    """Return the document of a successful command."""
    meta: dict[str, Any] = {"command": command, "version": __version__, "timestamp": format_timestamp(utc_now())}
    if project is not None:
        meta["project"] = project
    return _render_document({"$schema": SCHEMA, "_meta": meta, "success": True, **payload})


def failure_document(error: NexusError) -> str:
    """Return the document of a failed command."""
    told: dict[str, Any] = {"code": error.code, "name": error.name, "message": error.message}
    if error.context:
        told["context"] = error.context
    if error.hint:
        told["hint"] = error.hint
    if error.fix:
        told["fix"] = error.fix
    if error.alternatives:
        told["alternatives"] = error.alternatives
    return _render_document({"$schema": SCHEMA, "success": False, "error": told})


def _render_document(value: dict[str, Any]) -> str:
    long = [key for key, held in value.items() if isinstance(held, list) and len(held) > _LONG]
    text = json.dumps({**value, **dict.fromkeys(long, "")}, ensure_ascii=False, indent=2)
    for key in long:
        # json indents in Python and writes lines in C: a line for each of ten thousand rows takes a tenth of the time.
        rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in value[key])
        text = text.replace(f'\n  {json.dumps(key)}: ""', f"\n  {json.dumps(key)}: [\n{rows}\n  ]", 1)
    return text.encode("utf-8", "replace").decode()
