"""Documents take what their types say and nothing that merely resembles it, and say what is wrong where."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Field, ValidationError

from gitnexus.base.document import Document, Many, json_schema_of
from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record


class Part(Document):
    """A part."""

    id: str
    how_many: int = 0


class Whole(Document):
    """A whole."""

    name: str
    parts: Many[Part] = ()
    kind: Literal["small", "large"] = "small"
    share: Annotated[int, Field(ge=0, le=100)] = 0
    price: float | None = None
    done: bool = False
    words: dict[str, str] = Field(default_factory=dict)


class PartRecord(Record):
    """A part."""

    id: str
    how_many: int = 0


class WholeRecord(Record):
    """The same as Whole, for comparison; the range is not said by its types."""

    name: str
    parts: tuple[PartRecord, ...] = ()
    kind: Literal["small", "large"] = "small"
    share: int = 0
    price: float | None = None
    done: bool = False


def test_a_document_is_read_and_written_with_the_same_fields() -> None:
    value = {"name": "a", "parts": [{"id": "p", "howMany": 3}], "kind": "large", "share": 7, "done": True,
             "words": {"k": "v"}}  # fmt: skip

    whole = Whole.from_value(value, "it")

    assert whole == Whole(name="a", parts=(Part(id="p", how_many=3),), kind="large", share=7, done=True,
                          words={"k": "v"})  # fmt: skip
    assert whole.plain() == value
    assert whole.changed(name="b").plain() == {**value, "name": "b"}
    with pytest.raises(ValidationError):
        whole.name = "c"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "it should be an object"),
        ({}, "it: name is missing"),
        ({"name": 1}, "it: name should be text"),
        ({"name": None}, "it: name should be text"),
        ({"name": "a", "parts": {}}, "it: parts should be a list"),
        ({"name": "a", "parts": "ab"}, "it: parts should be a list"),
        ({"name": "a", "parts": [{"id": "p"}, 3]}, "it: parts[1] should be an object"),
        ({"name": "a", "parts": [{"id": "p", "how_many": 1}]}, "it: parts[0]: how_many is not known"),
        ({"name": "a", "parts": [{"id": "p", "howMany": 1.0}]}, "it: parts[0]: howMany should be a whole number"),
        ({"name": "a", "parts": [{"id": "p", "howMany": 1e0}]}, "it: parts[0]: howMany should be a whole number"),
        ({"name": "a", "parts": [{"id": "p", "howMany": True}]}, "it: parts[0]: howMany should be a whole number"),
        ({"name": "a", "parts": [{"id": "p", "howMany": "1"}]}, "it: parts[0]: howMany should be a whole number"),
        ({"name": "a", "kind": "huge"}, "it: kind should be one of small, large"),
        ({"name": "a", "share": -1}, "it: share should be at least 0"),
        ({"name": "a", "share": 101}, "it: share should be at most 100"),
        ({"name": "a", "price": "1"}, "it: price should be a number"),
        ({"name": "a", "price": True}, "it: price should be a number"),
        ({"name": "a", "done": 1}, "it: done should be true or false"),
        ({"name": "a", "words": {"k": 1}}, "it: words: k should be text"),
        ({"name": "a", "words": []}, "it: words should be an object"),
        ({"name": "a", "strange": 1}, "it: strange is not known"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(value: Any, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        Whole.from_value(value, "it")

    assert refused.value.message == words


_ATOM = st.one_of(st.none(), st.booleans(), st.integers(0, 100), st.floats(0, 9), st.sampled_from(["", "1", "small"]))
_PART = st.dictionaries(st.sampled_from(["id", "howMany", "how_many"]), _ATOM)
_WHOLE = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("name", "kind", "share", "price", "done", "strange"), _ATOM)
    | {"parts": st.one_of(_ATOM, st.lists(st.one_of(_PART, _ATOM), max_size=2))},
)


@given(_WHOLE)
def test_documents_records_and_schemas_take_and_refuse_the_same(value: dict[str, Any]) -> None:
    def words(form: type[Whole] | type[WholeRecord]) -> str:
        try:
            form.from_value(value, "it")
        except Invalid as exc:
            return exc.message
        return ""

    assert words(Whole) == words(WholeRecord)
    if "None" not in repr(value) and not _has_whole_float(value):
        assert Draft202012Validator(json_schema_of(Whole, "urn:x")).is_valid(value) == (words(Whole) == "")


def _has_whole_float(value: Any) -> bool:
    """JSON Schema takes 1.0 for an integer, and we do not."""
    if isinstance(value, dict | list):
        return any(map(_has_whole_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer()


def test_the_schema_of_a_record_is_that_of_a_document() -> None:
    document, record = json_schema_of(Part, "urn:part"), json_schema_of(PartRecord, "urn:part")

    assert document == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:part",
        "title": "Part",
        "description": "A part.",
        "type": "object",
        "additionalProperties": False,
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "howMany": {"type": "integer"}},
    }
    assert record["required"] == ["id"] and record["additionalProperties"] is False
    assert record["description"] == "A part."
