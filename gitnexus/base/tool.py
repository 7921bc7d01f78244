"""What a tool is: a name, parameters that are checked before it runs, and a function on what its room works with."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from gitnexus.base.errors import Invalid

D = TypeVar("D")
Kind = Literal["text", "number", "fraction", "flag", "texts", "numbers", "text map", "objects"]
_WORDS = {
    "text": "text",
    "number": "a whole number",
    "fraction": "a number",
    "flag": "true or false",
    "texts": "a list of texts",
    "numbers": "a list of whole numbers",
    "text map": "an object of texts",
    "objects": "a list of objects",
}


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter. `choices` are checked by the tool itself where the contract words the error.

    `fields` are what each of several objects may hold; none of them holds objects itself.
    """

    name: str
    kind: Kind
    words: str
    required: bool = False
    choices: tuple[str, ...] = ()
    fields: tuple["Param", ...] = ()


@dataclass(frozen=True, slots=True)
class Tool(Generic[D]):
    """One row of a room's shelf; `run` gets what that room works with."""

    name: str
    words: str
    params: tuple[Param, ...]
    run: Callable[[D, Mapping[str, Any]], dict[str, Any]]
    reads_only: bool = False
    destructive: bool = False


def checked(tool: Tool[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with numeric strings as numbers. Raises: Invalid, before anything happened."""
    known = [param.name for param in tool.params]
    for name in given:
        if name not in known:
            raise Invalid(f"{tool.name} has no parameter {name!r}", hint=f"it takes {', '.join(known) or 'none'}")
    return _fitting(tool.params, given, f"required for {tool.name}")


def _fitting(params: tuple[Param, ...], given: Mapping[str, Any], lacks: str, where: str = "") -> dict[str, Any]:
    found = {}
    for param in params:
        value = given.get(param.name)
        if value is None:
            if param.required:
                raise Invalid(f"{where}{param.name} is {lacks}")
            continue
        found[param.name] = _value(param, value, where)
    return found


def _value(param: Param, value: Any, where: str) -> Any:
    fits: Any = None
    match param.kind:
        case "text" if isinstance(value, str):
            fits = value
        case "flag" if isinstance(value, bool):
            return value
        case "number" | "fraction":
            fits = (_number if param.kind == "number" else _fraction)(value)
        case "texts" if isinstance(value, list) and all(isinstance(item, str) for item in value):
            fits = value
        case "numbers" if isinstance(value, list):
            numbers = [_number(item) for item in value]
            fits = numbers if None not in numbers else None
        case "text map" if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            fits = value
        case "objects" if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return [_object(param, item, f"{param.name}, number {at}: ") for at, item in enumerate(value, 1)]
    if fits is None:
        raise Invalid(f"{where}{param.name} should be {_WORDS[param.kind]}")
    if param.choices and fits not in param.choices:
        raise Invalid(f"{where}{param.name} should be one of {', '.join(param.choices)}")
    return fits


def _object(param: Param, item: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = [field.name for field in param.fields]
    for name in item:
        if name not in known:
            raise Invalid(f"{where}there is no field {name!r}", hint=f"the fields are {', '.join(known)}")
    return _fitting(param.fields, item, "missing", where)


def _number(value: Any) -> int | None:
    """Return a whole number; clients also send it as text. Not 1.0: so is 1.00000000000000000001 once it is read."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*-?\d{1,15}\s*", value, re.ASCII) else None
    return value if type(value) is int else None


def _fraction(value: Any) -> float | None:
    """Return a number, also one with a fraction; clients also send it as text."""
    if isinstance(value, str):
        return float(value) if re.fullmatch(r"\s*-?\d{1,15}(\.\d{1,15})?\s*", value, re.ASCII) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 10**15 else None  # not NaN either
