"""The flat JSON envelope: one document, success or failure."""

import json
from typing import Any

from gitnexus import __version__
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import NexusError

SCHEMA = "urn:git-nexus:output:1"


def success(command: str, project: dict[str, str] | None, payload: dict[str, Any]) -> str:
    """Return the document of a command that worked."""
    meta: dict[str, Any] = {"command": command, "version": __version__, "timestamp": stamp(now())}
    if project is not None:
        meta["project"] = project
    return _text({"$schema": SCHEMA, "_meta": meta, "success": True, **payload})


def failure(error: NexusError) -> str:
    """Return the document of a command that did not."""
    told: dict[str, Any] = {"code": error.code, "name": error.name, "message": error.message}
    if error.context:
        told["context"] = error.context
    if error.hint:
        told["hint"] = error.hint
    if error.fix:
        told["fix"] = error.fix
    if error.alternatives:
        told["alternatives"] = error.alternatives
    return _text({"$schema": SCHEMA, "success": False, "error": told})


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode()
