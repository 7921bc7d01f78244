"""Write conformance/schemas and the catalog's from the records: `python conformance/generate.py`.

pydantic reads from a record which fields there are, of what type and within what limits. A field that may be None is
left out of a file when it is, so all others are required. People write the files of a catalog: there a field with a
default may be left out, and others may be added.
"""

import dataclasses
import json
import typing
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from gitnexus.base.document import SCHEMA_DIALECT, DocumentSchema
from gitnexus.base.record import Record
from gitnexus.catalog import manifest, model
from gitnexus.catalog.builtin import FOLDER as CATALOG
from gitnexus.cycle.agents import AgentEntry
from gitnexus.cycle.model import Cycle, CycleHistory, PlanFile, TaskFile
from gitnexus.memory.model import AccessLogRow

FOLDER = Path(__file__).parent / "schemas"

# A tag starts a skill or calls a handler, and says which.
_BESIDES: dict[type[Record], dict[str, Any]] = {
    model.Tag: {
        "if": {"properties": {"type": {"const": "skill"}}},
        "then": {"required": ["skill"]},
        "else": {"required": ["handler"]},
    }
}
# A plan inside a cycle does not say its version a second time: the contract has no field for it there.
_LEFT_OUT_INSIDE: dict[type[Record], tuple[str, ...]] = {PlanFile: ("schema_version",)}
# A cycle outlives the version that wrote it and must say which that was; it says null where it had no plan.
_ALWAYS_WRITTEN: dict[type[Record], tuple[str, ...]] = {Cycle: ("plan", "schema_version")}


_TITLES: dict[type[Record], str] = {
    PlanFile: "The open plan of a session, .nexus/state/plan.json.",
    TaskFile: "The tasks of a session, .nexus/state/tasks.json.",
    CycleHistory: "All closed cycles, .nexus/history.json.",
    AgentEntry: "The agents of one harness, .nexus/state/<harness>/agent-tracker.json.",
    AccessLogRow: "One line of .nexus/state/<harness>/memory-access.jsonl.",
    manifest.Manifest: "The manifest of a catalog, manifest.json.",
    model.Agent: "The metadata of a role, agents/<id>/meta.yml.",
    model.Skill: "The metadata of a skill, skills/<id>/meta.yml.",
    model.Capability: "One entry of vocabulary/capabilities.yml.",
    model.Tag: "One entry of vocabulary/tags.yml.",
    manifest.MemoryPolicy: "The whole of vocabulary/memory_policy.yml.",
    manifest.TaskException: "One entry of vocabulary/task-exceptions.yml.",
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by the name of its file."""
    return {
        "plan.schema.json": _document(PlanFile, "plan"),
        "tasks.schema.json": _document(TaskFile, "tasks"),
        "history.schema.json": _document(CycleHistory, "history"),
        "agent-tracker.schema.json": _document(AgentEntry, "agent-tracker", rows=True),
        "memory-access.schema.json": _document(AccessLogRow, "memory-access"),
    }


def catalog_schemas() -> dict[str, dict[str, Any]]:
    """Return every schema of a catalog's files by the name of its file."""
    return {
        "manifest.schema.json": _document(manifest.Manifest, "manifest"),
        "agent.schema.json": _document(model.Agent, "agent", without=("body_hash",)),
        "skill.schema.json": _document(model.Skill, "skill", without=("body_hash",)),
        "capability.schema.json": _document(model.Capability, "capability"),
        "tag.schema.json": _document(model.Tag, "tag"),
        "memory-policy.schema.json": _document(manifest.MemoryPolicy, "memory-policy"),
        "task-exception.schema.json": _document(manifest.TaskException, "task-exception"),
    }


def text(schema: dict[str, Any]) -> str:
    """Return a schema as it is kept."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _document(record: type[Record], name: str, *, rows: bool = False, without: tuple[str, ...] = ()) -> dict[str, Any]:
    class Whole(_RecordSchema):
        top, left_out = record, without

    body = TypeAdapter(record).json_schema(schema_generator=Whole)
    used = body.pop("$defs", {})
    room = "catalog" if _by_people(record) else "state"
    head = {"$schema": SCHEMA_DIALECT, "$id": f"urn:git-nexus:{room}:{name}:1", "title": _TITLES[record]}
    whole = {**head, "type": "array", "items": body} if rows else {**head, **body}
    return {**whole, "$defs": {key: used[key] for key in sorted(used)}} if used else whole


class _RecordSchema(DocumentSchema):
    """What pydantic says of a record, in the order of its fields, without those that others keep in it."""

    top: ClassVar[type[Record]]
    left_out: ClassVar[tuple[str, ...]]

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        record = schema["cls"]
        without = self.left_out if record is self.top else _LEFT_OUT_INSIDE.get(record, ())
        there = [field for field in dataclasses.fields(record) if field.name not in ("unknown", *without)]
        hints, said = typing.get_type_hints(record), super().dataclass_schema(schema)["properties"]
        return {
            "type": "object",
            **({} if _by_people(record) else {"additionalProperties": False}),
            "required": [field.name for field in there if _required(record, field, hints[field.name])],
            "properties": {field.name: _field(record, field.name, said[field.name]) for field in there},
            **_BESIDES.get(record, {}),
        }

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def _required(record: type[Record], field: "dataclasses.Field[Any]", hint: Any) -> bool:
    if _by_people(record):
        return field.default is dataclasses.MISSING
    return field.name in _ALWAYS_WRITTEN.get(record, ()) or type(None) not in typing.get_args(hint)


def _field(record: type[Record], name: str, said: dict[str, Any]) -> dict[str, Any]:
    schema = {key: said[key] for key in ("type", *said) if key in said}
    nullable = name == "plan" and name in _ALWAYS_WRITTEN.get(record, ())
    return {"oneOf": [schema, {"type": "null"}]} if nullable else schema


def _by_people(record: type[Record]) -> bool:
    return issubclass(record, model.CatalogRecord)


def main() -> None:
    """Write them all."""
    for folder, made in ((FOLDER, schemas()), (CATALOG / "schema", catalog_schemas())):
        folder.mkdir(exist_ok=True)
        for name, schema in made.items():
            (folder / name).write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
