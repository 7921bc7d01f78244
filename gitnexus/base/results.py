"""Base classes for the results of tools: checks an answer, and gives the JSON Schema that an MCP client reads.

Only what describes tools, and what checks their answers, imports these classes: an answer itself is made without them.
"""

import dataclasses
import json
import typing
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    RootModel,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from gitnexus.base.document import Document, DocumentSchema, Many, describe_problem, inline_references
from gitnexus.base.record import Record, StoredRecord

T = TypeVar("T")


class WrongResult(TypeError):
    """Raised where a tool returned what its own result class does not allow: a bug of the tool or of the class."""


class ResultClass(BaseModel):
    """What each result class can do. `X | None = None` may be missing, `X | None` without a default may be null."""

    @classmethod
    def check(cls, tool: str, answer: Mapping[str, Any]) -> None:
        """Check an answer as JSON. Raises: WrongResult, naming the field."""
        try:
            cls.model_validate_json(json.dumps(answer), by_alias=True, by_name=False)
        except ValidationError as exc:
            problem = describe_problem(exc.errors(include_url=False)[0], f"the result of {tool}")
            raise WrongResult(problem) from exc

    @classmethod
    def output_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema without references, which some clients do not follow."""
        whole = TypeAdapter(cls).json_schema(schema_generator=_ResultSchema)
        schema: dict[str, Any] = inline_references(whole, whole.pop("$defs", {}))
        # MCP wants the type at the top, also above alternatives.
        return {"type": "object", **{key: part for key, part in schema.items() if key not in ("title", "description")}}


class Result(Document, ResultClass):
    """The object that a tool returns, or one inside of it; a field that is not declared is an error."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_null_for_missing(cls, value: Any) -> Any:
        """Refuse null where a field may only be missing: clients that follow the schema do not expect it."""
        if isinstance(value, dict):
            for name, field in cls.model_fields.items():
                key = field.alias or name
                if not field.is_required() and key in value and value[key] is None:
                    raise PydanticCustomError("null", "an object without null in {key}", {"key": key})
        return value


class ToolError(Result):
    """What a tool answers if it fails."""

    error: str
    hint: str | None = None


class OneOf(RootModel[T], ResultClass):
    """A result that has one of several forms."""

    model_config = ConfigDict(strict=True, defer_build=True)


class Written:
    """Annotation of a field that holds what `plain()` of a record returned.

    The record's fields and types hold for it, the limits beside them do not: files are read without those, and a tool
    returns what it read. `more` has the fields that the tool lays over it, `without` are those that it leaves out, and
    `names` are the types that the record's module imports for type checkers only.
    """

    def __init__(
        self,
        record: type[Record],
        *,
        more: type[Result] = Result,
        without: tuple[str, ...] = (),
        names: Mapping[str, type] | None = None,
    ) -> None:
        self._record, self._more, self._without, self._names = record, more, without, names or {}

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self._result)

    @cached_property
    def _result(self) -> type[Result]:
        return _result_of_record(self._record, self._more, self._without, self._names)


def _result_of_record(
    record: type[Record],
    more: type[Result] = Result,
    without: tuple[str, ...] = (),
    names: Mapping[str, type] | None = None,
) -> type[Result]:
    """Return the result class of a record: None is left out of JSON, all other fields are always written."""
    hints = typing.get_type_hints(record, localns=dict(names or {}))
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        if field.name not in ("unknown", *without):
            hint = _result_type(hints[field.name])
            fields[field.name] = (hint, None) if type(None) in typing.get_args(hint) else (hint, ...)
    config = ConfigDict(extra="allow" if issubclass(record, StoredRecord) else "forbid")
    if not record._camel_case:
        config["alias_generator"] = None
    base = type(f"{record.__name__}Base", (more,), {"__module__": __name__, "model_config": config})
    made: type[Result] = create_model(record.__name__, __base__=base, **fields)
    return made


def _result_type(hint: Any) -> Any:
    """Return the type of a record's field with result classes in place of records, and lists that take JSON's."""
    if isinstance(hint, type) and issubclass(hint, Record):
        return _result_of_record(hint)
    parts = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return Many[_result_type(parts[0])]  # type: ignore[misc]
    if type(None) in parts:
        (kept,) = (part for part in parts if part is not type(None))
        return _result_type(kept) | None
    return hint


class _ResultSchema(DocumentSchema):
    """The JSON Schema of a result: null only where a field has no default."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        inner = self.generate_inner(schema["schema"])
        return {"anyOf": [inner, {"type": "null"}]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        inner = schema["schema"]
        return self.generate_inner(inner["schema"] if inner["type"] == "nullable" else inner)
