"""Base classes for records: frozen values whose fields are validated once, when the record is created.

Built on plain dataclasses: pydantic models do the same but cost every short command 100 ms (docs/decisions/0008).
"""

import dataclasses
import operator
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, Literal, Self, dataclass_transform

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.spelling import closest_word


class Limits:
    """What a type cannot say of a field, in the words of JSON Schema. Only `base/document.py` reads it, for schemas."""

    __slots__ = ("schema",)

    def __init__(self, **schema: Any) -> None:
        self.schema = schema

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        return {**handler(core_schema), **self.schema}


NotEmpty = typing.Annotated[str, Limits(minLength=1)]
Timestamp = typing.Annotated[str, Limits(format="date-time")]
Count = typing.Annotated[int, Limits(minimum=0)]
SchemaVersion = typing.Annotated[str, Limits(pattern="^[0-9]+\\.[0-9]+$")]

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
_ATOMS = frozenset({str, int, bool})


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record:
    """A frozen value; `snake_case` here is `camelCase` in JSON; unknown fields are refused."""

    # Read by pydantic alone, where somebody asks for the JSON Schema of a record.
    __pydantic_config__: ClassVar[dict[str, Any]] = {"strict": True, "extra": "forbid"}
    _keeps_unknown: ClassVar[bool] = False
    _camel_case: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        # What compares and shows is below, once for all: to have it written for each class takes a third of its time.
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)

    def __eq__(self, other: object) -> bool:
        return _compared_values(self) == _compared_values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_compared_values(self))

    def __repr__(self) -> str:
        rows = dataclasses.fields(self)  # type: ignore[arg-type]
        shown = ", ".join(f"{row.name}={getattr(self, row.name)!r}" for row in rows if row.repr)
        return f"{type(self).__qualname__}({shown})"

    @classmethod
    def from_value(cls, value: Any, where: str) -> Self:
        """Return the record in a JSON value. Raises: Invalid, naming the field below `where`."""
        if not isinstance(value, dict):
            raise Invalid(f"{where} should be an object")
        given = dict(value)
        found: dict[str, Any] = {}
        for name, key, hint, required in _record_fields(cls):
            if key in given:
                item = given.pop(key)
                plain = type(item) is hint and hint in _ATOMS  # most fields are; asked here, it costs nothing more
                found[name] = item if plain else _check_value(hint, item, f"{where}: {key}")
            elif required:
                misspelt = closest_word(key, given.keys() - {key for _, key, _, _ in _record_fields(cls)})
                if misspelt:
                    raise Invalid(f"{where}: {misspelt} is not known", hint=f"did you mean {key}?")
                raise Invalid(f"{where}: {key} is missing")
        if cls._keeps_unknown:
            found["unknown"] = given
        elif given:
            close = closest_word(min(given), (key for _, key, _, _ in _record_fields(cls)))
            raise Invalid(f"{where}: {min(given)} is not known", hint=f"did you mean {close}?" if close else None)
        return cls(**found)

    def plain(self) -> dict[str, Any]:
        """Return the JSON value: with the unknown fields, without the fields that are None."""
        unknown: Mapping[str, Any] = getattr(self, "unknown", {})
        values = {key: _to_plain(getattr(self, name)) for name, key, _, _ in _record_fields(type(self))}
        return {**unknown, **{key: value for key, value in values.items() if value is not None}}

    def changed(self, **fields: Any) -> Self:
        """Return the record with some fields replaced."""
        return dataclasses.replace(self, **fields)  # type: ignore[type-var]


class StoredRecord(Record):
    """A record stored in a file: fields of a newer version are kept and written back unchanged."""

    _keeps_unknown: ClassVar[bool] = True

    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def from_bytes(cls, raw: bytes, path: str) -> Self:
        """Return the record in a file. Raises: Invalid, naming `path`."""
        try:
            return cls.from_value(parse_json(raw), path)
        except Invalid as exc:
            words = exc.message if exc.message.startswith(path) else f"{path} is {exc.message}"
            raise Invalid(words, hint="it is left as it is; repair it by hand") from exc

    def to_bytes(self) -> bytes:
        """Return the stored form."""
        return json_document(self.plain())


_getters: dict[type, Callable[[Any], Any]] = {}


def _compared_values(record: Any) -> Any:
    cls = type(record)
    if cls not in _getters:
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        # One name alone would give the value itself, and an empty list nothing at all.
        _getters[cls] = (
            operator.attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)
        )
    return _getters[cls](record)


_Rows = tuple[tuple[str, str, Any, bool], ...]
_known: dict[type, _Rows] = {}


def _record_fields(cls: type[Record]) -> _Rows:
    if cls not in _known:
        _known[cls] = _look_up_fields(cls)
    return _known[cls]


def _look_up_fields(cls: Any) -> _Rows:
    hints = typing.get_type_hints(cls)
    rows = []
    for field in dataclasses.fields(cls):
        if field.name != "unknown":
            first, *rest = field.name.split("_") if cls._camel_case else [field.name]
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            rows.append((field.name, first + "".join(map(str.title, rest)), hints[field.name], required))
    return tuple(rows)


def _check_value(hint: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _check_union(typing.get_args(hint), value, where)
    if origin is Literal:
        return _check_choice(typing.get_args(hint), value, where)
    if origin is not None:
        return _check_collection(origin, typing.get_args(hint), value, where)
    if issubclass(hint, Record):
        return hint.from_value(value, where)
    if issubclass(hint, Enum):
        return hint(_check_choice([member.value for member in hint], value, where))
    exact = type(value) is hint or (hint is float and type(value) is int)
    return value if exact else _raise_wrong_type(where, _WORDS.get(hint, hint.__name__))


def _check_union(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    real = [hint for hint in hints if hint is not type(None)]
    for hint in real[:-1]:
        try:
            return _check_value(hint, value, where)
        except Invalid:
            continue
    return _check_value(real[-1], value, where)


def _check_collection(origin: Any, hints: tuple[Any, ...], value: Any, where: str) -> Any:
    if origin is tuple and isinstance(value, list):
        return tuple(_check_value(hints[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: _check_value(hints[1], item, f"{where}.{key}") for key, item in value.items()}
    return _raise_wrong_type(where, "a list" if origin is tuple else "an object")


def _check_choice(allowed: typing.Sequence[Any], value: Any, where: str) -> Any:
    fits = any(type(value) is type(one) and value == one for one in allowed)
    return value if fits else _raise_wrong_type(where, "one of " + ", ".join(map(str, allowed)))


def _raise_wrong_type(where: str, expected: str) -> typing.NoReturn:
    raise Invalid(f"{where} should be {expected}")


def _to_plain(value: Any) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, Record):
        return value.plain()
    if isinstance(value, (list, tuple)):
        return [_to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_plain(item) for key, item in value.items()}
    return value.value if isinstance(value, Enum) else value
