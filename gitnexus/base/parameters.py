"""Base class and types for the parameters of tools: validates what a caller sent, and gives its JSON Schema."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from gitnexus.base.document import Document, inline_references, json_schema_body
from gitnexus.base.errors import Invalid


def _parse_number(value: Any) -> Any:
    """Return a whole number for its text. Not for 1.0: 1.00000000000000000001 would be equal to it."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}\s*", value, re.ASCII) else value


def _parse_fraction(value: Any) -> Any:
    """Return a number for its text, and None for a number with too many digits or an infinite one."""
    if isinstance(value, str):
        return float(value) if re.fullmatch(r"\s*-?\d{1,15}(\.\d{1,15})?\s*", value, re.ASCII) else value
    return None if isinstance(value, int | float) and not abs(value) < 10**15 else value


# Clients also send numbers as text.
Number = Annotated[int, BeforeValidator(_parse_number), Field(json_schema_extra={"type": ["integer", "string"]})]
Fraction = Annotated[float, BeforeValidator(_parse_fraction), Field(json_schema_extra={"type": ["number", "string"]})]


class Parameters(Document):
    """The parameters of a tool. A field that may be None may be omitted, and null counts as omitted."""

    model_config = ConfigDict(alias_generator=None)

    @classmethod
    def check(cls, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the validated parameters, numbers as numbers, without nulls. Raises: Invalid, naming the parameter."""
        names = [field.alias or name for name, field in cls.model_fields.items()]
        for name in given:
            if name not in names:
                raise Invalid(f"{tool} has no parameter {name!r}", hint=f"it takes {', '.join(names) or 'none'}")
        try:
            return cls.model_validate(_without_nulls(given)).model_dump(by_alias=True, exclude_none=True)
        except ValidationError as exc:
            raise _refusal(cls.input_schema(), exc.errors(include_url=False)[0], tool) from exc

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema without references, which some clients do not follow."""
        whole = json_schema_body(cls)
        schema: dict[str, Any] = inline_references(whole, whole.pop("$defs", {}))
        return schema


def describe_kind(schema: Mapping[str, Any]) -> str:
    """Return the type of a parameter with this JSON Schema, in a few words."""
    match schema:
        case {"enum": choices}:
            return f"one of {', '.join(choices)}"
        case {"type": "array", "items": items}:
            several = {"text": "texts", "a whole number": "whole numbers", "an object": "objects"}
            kind = describe_kind(items)
            return f"a list of {several[kind]}" if kind in several else f"a list, each {kind}"
        case {"type": "object", "properties": _}:
            return "an object"
        case {"type": "object"}:
            return "an object of texts"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": ["integer", "string"]}:
            return "a whole number"
        case {"type": ["number", "string"]}:
            return "a number"
    return "text"


def _refusal(schema: Mapping[str, Any], problem: ErrorDetails, tool: str) -> Invalid:
    """Return the error for a parameter, or for a field of an object in a list parameter."""
    missing = problem["type"] == "missing"
    match problem["loc"]:
        case (str(name), int(at), str(field), *_) if "properties" in schema["properties"][name].get("items", {}):
            fields, where = schema["properties"][name]["items"]["properties"], f"{name}, number {at + 1}: "
            if field not in fields:
                return Invalid(f"{where}there is no field {field!r}", hint=f"the fields are {', '.join(fields)}")
            rest = "is missing" if missing else f"should be {describe_kind(fields[field])}"
            return Invalid(f"{where}{field} {rest}")
        case (name, *_) if problem["type"] == "form":
            context = problem["ctx"]
            return Invalid(f"{name}: {context['given']!r} does not fit", hint=f"it takes {context['expected']}")
        case (name, *_):
            kind = describe_kind(schema["properties"][name])
            return Invalid(f"{name} is required for {tool}" if missing else f"{name} should be {kind}")
    return Invalid(f"the parameters of {tool} should be an object")


def _without_nulls(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without fields that are null, also in the objects of its lists."""
    return {
        name: [_without_nulls(item) if isinstance(item, dict) else item for item in value]
        if isinstance(value, list)
        else value
        for name, value in given.items()
        if value is not None
    }
