"""The form of a record in two languages: JSON Schema for everybody, BAML for `baml-py`. Both follow from the record."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

from gitnexus.base.record import Record

# Numbers with bounds, by the name of their field.
RANGES = {"confidence": (0, 100), "risk": (0, 3)}
_JSON = {str: "string", int: "integer", bool: "boolean"}
_BAML = {str: "string", int: "int", bool: "bool"}


def schema_of(form: type[Record], name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a record."""
    found: dict[str, dict[str, Any]] = {}
    top = _object(form, found)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:git-nexus:prompt:{name}:1"}
    return {**head, **top, **({"$defs": dict(sorted(found.items()))} if found else {})}


def baml_of(forms: typing.Iterable[type[Record]]) -> str:
    """Return the classes of records, and of all records in them, as BAML."""
    found: dict[str, str] = {}
    for form in forms:
        _class(form, found)
    return "\n".join(found[name] for name in sorted(found))


def _rows(form: type[Record]) -> typing.Iterator[tuple[str, Any, bool]]:
    hints = typing.get_type_hints(form)
    for one in dataclasses.fields(form):  # type: ignore[arg-type]
        required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        yield one.name, hints[one.name], required


def _object(form: type[Record], found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    rows = list(_rows(form))
    return {
        "title": form.__name__,
        "description": (form.__doc__ or "").strip(),
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, _, required in rows if required],
        "properties": {name: _typed(hint, found) | _bounds(name) for name, hint, _ in rows},
    }


def _bounds(name: str) -> dict[str, int]:
    return {"minimum": RANGES[name][0], "maximum": RANGES[name][1]} if name in RANGES else {}


def _typed(hint: Any, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (typing.Union, types.UnionType):  # only `X | None`: not said is not there
        return _typed(args[0], found)
    if origin is tuple:
        return {"type": "array", "items": _typed(args[0], found)}
    if origin in (dict, Mapping):
        return {"type": "object", **({} if args[1] is Any else {"additionalProperties": _typed(args[1], found)})}
    if hint in _JSON:
        return {"type": _JSON[hint]}
    if hint.__name__ not in found:
        found[hint.__name__] = {}
        found[hint.__name__] = _object(hint, found)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _class(form: type[Record], found: dict[str, str]) -> None:
    if form.__name__ not in found:
        found[form.__name__] = ""
        # A list that is missing is an empty one to BAML; anything else has to be said to be optional.
        rows = [
            f"  {name} {_spelled(hint, found)}{'' if required or _is_list(hint) else '?'}"
            for name, hint, required in _rows(form)
        ]
        found[form.__name__] = "\n".join([f"class {form.__name__} {{", *rows, "}", ""])


def _is_list(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple


def _spelled(hint: Any, found: dict[str, str]) -> str:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "(" + " | ".join(f'"{one}"' for one in args) + ")"
    if origin in (typing.Union, types.UnionType):
        return _spelled(args[0], found)
    if origin is tuple:
        return f"{_spelled(args[0], found)}[]"
    if origin is dict:
        return f"map<string, {_spelled(args[1], found)}>"
    if hint in _BAML:
        return _BAML[hint]
    _class(hint, found)
    return str(hint.__name__)
