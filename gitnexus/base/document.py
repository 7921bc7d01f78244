"""Base class for documents: JSON that other programs, models and people write, validated by pydantic on its way in.

Records that hooks and short commands read are in `base/record.py`: importing pydantic costs more than such a command
(docs/decisions/0008).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from gitnexus.base.errors import Invalid
from gitnexus.base.spelling import closest_word

T = TypeVar("T")
# A list in JSON, a tuple here: that one conversion is allowed, all others are not.
Many = Annotated[tuple[T, ...], Strict(False)]
SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
# A value in what pydantic says of a literal: 'a', 'b' or 'c'.
_LITERAL = re.compile(r"'([^']*)'")
_EXPECTED = {
    "string_type": "text",
    "string_unicode": "text without an unpaired surrogate",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}


class Document(BaseModel):
    """A frozen value; `snake_case` here is `camelCase` in JSON; unknown fields and converted types are refused."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # a command that imports twenty forms uses two of them
    )

    @classmethod
    def from_value(cls, value: Any, where: str) -> Self:
        """Return the document in a JSON value. Raises: Invalid, naming the field below `where`."""
        try:
            return cls.model_validate(value, by_alias=True, by_name=False)
        except ValidationError as exc:
            raise cls._invalid(exc, where) from exc

    @classmethod
    def from_fields(cls, where: str, **fields: Any) -> Self:
        """Return the document with these fields, whose values a user may have given. Raises: Invalid, naming one."""
        try:
            return cls.model_validate(fields, by_alias=False, by_name=True)
        except ValidationError as exc:
            raise cls._invalid(exc, where) from exc

    @classmethod
    def _invalid(cls, exc: ValidationError, where: str) -> Invalid:
        problem = _reason_why_missing(exc.errors(include_url=False))
        return Invalid(describe_problem(problem, where), hint=_suggestion(cls, problem))

    def plain(self) -> dict[str, Any]:
        """Return the JSON value, without the fields that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def changed(self, **fields: Any) -> Self:
        """Return a copy with some fields replaced; the new values are not validated."""
        return self.model_copy(update=fields)


def _reason_why_missing(problems: list[ErrorDetails]) -> ErrorDetails:
    """Return the first problem; for a field that is missing since it is misspelt, the misspelt one."""
    *place, name = problems[0]["loc"] or ("",)
    if problems[0]["type"] != "missing":
        return problems[0]
    beside = {
        str(one["loc"][-1]): one
        for one in problems
        if one["type"] == "extra_forbidden" and list(one["loc"][:-1]) == place
    }
    return beside.get(closest_word(str(name), beside), problems[0])


def _suggestion(form: type[BaseModel], problem: ErrorDetails) -> str | None:
    """Return the field or value that a misspelt one may mean, None if none is similar."""
    if problem["type"] == "extra_forbidden":
        given, known = problem["loc"][-1], _field_names(form, problem["loc"][:-1])
    elif problem["type"] == "literal_error" and isinstance(problem["input"], str):
        given, known = problem["input"], _LITERAL.findall(problem["ctx"]["expected"])
    else:
        return None
    close = closest_word(str(given), known)
    return f"did you mean {close}?" if close else None


def _field_names(form: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    """Return the JSON names of the fields of the document at a place inside of `form`."""
    forms = {form}
    for part in loc:
        fields = [field for one in forms for name, field in one.model_fields.items() if part in (name, field.alias)]
        # A key of an object, an index, or the tag of a union leads to no other form.
        forms = {one for field in fields for one in _documents_in(field.annotation)} if fields else forms
    return [field.alias or name for one in forms for name, field in one.model_fields.items()]


def _documents_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the documents that a type is made of, without those inside of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _documents_in(part)


def describe_problem(problem: ErrorDetails, where: str) -> str:
    """Return a validation error as one sentence: the field, and what is expected."""
    # pydantic marks a wrong key of an object by one more part, [key].
    loc = problem["loc"][:-1] if problem["loc"][-1:] == ("[key]",) else problem["loc"]
    place = where + "".join(f"[{part}]" if isinstance(part, int) else f": {part}" for part in loc)
    context = problem.get("ctx", {})
    match problem["type"]:
        case "missing":
            return f"{place} is missing"
        case "extra_forbidden":
            return f"{place} is not known"
        case "literal_error":
            return f"{place} should be one of {context['expected'].replace(' or ', ', ').replace(chr(39), '')}"
        case "greater_than_equal":
            return f"{place} should be at least {context['ge']}"
        case "less_than_equal":
            return f"{place} should be at most {context['le']}"
        case "string_too_short" | "too_short":
            return f"{place} should have at least {_count(context['min_length'], problem['type'])}"
        case "string_too_long" | "too_long":
            return f"{place} should have at most {_count(context['max_length'], problem['type'])}"
        case "form":
            return f"{place} should be {context['expected']}, not {context['given']!r}"
        case kind:
            return f"{place} should be {_EXPECTED.get(kind, problem['msg'].removeprefix('Input should be '))}"


def _count(number: int, kind: str) -> str:
    noun = "character" if kind.startswith("string") else "item"
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


def has_form(pattern: str, expected: str) -> tuple[Any, ...]:
    """Return the annotations of a text that must match `pattern` as a whole; `expected` describes it in an error."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text):
            return text
        raise PydanticCustomError("form", "{expected}", {"expected": expected, "given": text[:40]})

    return AfterValidator(check), Field(json_schema_extra={"pattern": f"^{pattern}$"})


def _refuse_duplicates(items: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(items)) < len(items):
        raise PydanticCustomError("duplicate", "a list in which nothing occurs twice")
    return items


def _refuse_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "text without a NUL")
    return text


NO_NUL = AfterValidator(_refuse_nul)
# The annotations of a list in which nothing may occur twice.
DISTINCT = (AfterValidator(_refuse_duplicates), Field(json_schema_extra={"uniqueItems": True}))


def json_schema_of(form: type[Any], id_: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document or a record."""
    return {"$schema": SCHEMA_DIALECT, "$id": id_, **json_schema_body(form)}


def json_schema_body(form: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a document or a record without its id, to embed it in another schema."""
    return TypeAdapter(form).json_schema(schema_generator=DocumentSchema)


def inline_references(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with definitions in place of references, and without class names."""
    if isinstance(schema, list):
        return [inline_references(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return {**inline_references(definitions[schema["$ref"].rpartition("/")[2]], definitions), **own}
    if "properties" not in schema:
        return {key: inline_references(value, definitions) for key, value in schema.items()}
    fields = {name: inline_references(field, definitions) for name, field in schema["properties"].items()}
    rest = {key: schema[key] for key in ("type", "additionalProperties", "required") if key in schema}
    return {**rest, "properties": fields}


class DocumentSchema(GenerateJsonSchema):
    """pydantic's JSON Schema without titles, defaults, and null for optional fields."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        return {**super().dataclass_schema(schema), "description": (schema["cls"].__doc__ or "").strip()}
