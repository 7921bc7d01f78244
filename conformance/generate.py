"""Write conformance/schemas from the records: `python conformance/generate.py`.

A record says which fields there are and of what type. A field that may be None is left out of a file when it is, so
all others are required. What a type cannot say (a time, a number from 1 on, a text that is not empty) is in the tables
here.
"""

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any

from gitnexus.base.record import Record
from gitnexus.cycle.agents import AgentEntry
from gitnexus.cycle.model import (
    Analysis,
    Cycle,
    CycleRecord,
    CycleTask,
    History,
    Plan,
    PlanIssue,
    TaskFile,
    TaskResult,
)

FOLDER = Path(__file__).parent / "schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TIME = {"format": "date-time"}
_WORDS = {"minLength": 1}
_COUNTED = {"minimum": 1}
_SLUG = {"pattern": "^[a-z][a-z0-9-]*$"}
_LIMITS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("created_at", "completed_at", "recorded_at", "started_at", "stopped_at"), _TIME),
    **dict.fromkeys(("last_resumed_at", "last_accessed_ts"), _TIME),
    **dict.fromkeys(("topic", "title", "context", "goal", "branch", "agent_id", "path", "last_agent"), _WORDS),
    **dict.fromkeys(("harness_id", "agent_name", "agent"), _SLUG),
    "id": _COUNTED,
    "resume_count": {"minimum": 0},
    "access_count": {"minimum": 0},
    "schema_version": {"pattern": "^[0-9]+\\.[0-9]+$"},
}
# A plan inside a cycle does not say its version a second time: the contract has no field for it there.
_LEFT_OUT_INSIDE: dict[type[Record], tuple[str, ...]] = {Plan: ("schema_version",)}
# A cycle outlives the version that wrote it and must say which that was; it says null where it had no plan.
_ALWAYS_WRITTEN: dict[type[Record], tuple[str, ...]] = {Cycle: ("plan", "schema_version")}


class MemoryAccess(CycleRecord):
    """How often a memory file was read: one line of memory-access.jsonl, one line a path."""

    path: str
    last_accessed_ts: str
    access_count: int
    last_agent: str
    schema_version: str | None = None


_TITLES: dict[type[Record], str] = {
    Plan: "The open plan of a session, .nexus/state/plan.json.",
    TaskFile: "The tasks of a session, .nexus/state/tasks.json.",
    History: "All closed cycles, .nexus/history.json.",
    AgentEntry: "The agents of one harness, .nexus/state/<harness>/agent-tracker.json.",
    MemoryAccess: "One line of .nexus/state/<harness>/memory-access.jsonl.",
}
_DEFINED = (Analysis, CycleTask, Cycle, PlanIssue, Plan, TaskResult)


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by the name of its file."""
    return {
        "plan.schema.json": _document(Plan, "plan"),
        "tasks.schema.json": _document(TaskFile, "tasks"),
        "history.schema.json": _document(History, "history"),
        "agent-tracker.schema.json": _document(AgentEntry, "agent-tracker", rows=True),
        "memory-access.schema.json": _document(MemoryAccess, "memory-access"),
    }


def text(schema: dict[str, Any]) -> str:
    """Return a schema as it is kept."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _document(record: type[Record], name: str, *, rows: bool = False) -> dict[str, Any]:
    used: dict[str, dict[str, Any]] = {}
    body = _object(record, used)
    head = {"$schema": DRAFT, "$id": f"urn:git-nexus:state:{name}:1", "title": _TITLES[record]}
    whole = {**head, "type": "array", "items": body} if rows else {**head, **body}
    return {**whole, "$defs": {key: used[key] for key in sorted(used)}} if used else whole


def _object(record: type[Record], used: dict[str, dict[str, Any]], without: tuple[str, ...] = ()) -> dict[str, Any]:
    hints = typing.get_type_hints(record)
    there = [field.name for field in dataclasses.fields(record)]  # type: ignore[arg-type]
    names = [name for name in there if name not in ("unknown", *without)]
    always = _ALWAYS_WRITTEN.get(record, ())
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in names if name in always or not _optional(hints[name])],
        "properties": {name: _field(record, name, hints[name], used) for name in names},
    }


def _field(record: type[Record], name: str, hint: Any, used: dict[str, dict[str, Any]]) -> dict[str, Any]:
    real = next(one for one in typing.get_args(hint) if one is not type(None)) if _optional(hint) else hint
    schema = {**_typed(real, used), **(_LIMITS.get(name, {}))}
    nullable = _optional(hint) and name == "plan" and name in _ALWAYS_WRITTEN.get(record, ())
    return {"oneOf": [schema, {"type": "null"}]} if nullable else schema


def _typed(hint: Any, used: dict[str, dict[str, Any]]) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"type": "string", "enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _typed(inner[0], used)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _typed(inner[1], used)}
    if hint in _DEFINED:
        if hint.__name__ not in used:
            used[hint.__name__] = {}  # its name is taken before its fields are looked at
            used[hint.__name__] = _object(hint, used, without=_LEFT_OUT_INSIDE.get(hint, ()))
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[hint]}


def _optional(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType) and type(None) in typing.get_args(hint)


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (FOLDER / name).write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
