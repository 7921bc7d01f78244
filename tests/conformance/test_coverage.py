"""Coverage is counted from calls and assertions, and a gap is seen."""

from typing import Any

from gitnexus.conformance.coverage import CoverageShare, compute_coverage, fields_of_schema, fields_of_value
from gitnexus.conformance.fixture import Fixture, parse_fixture
from gitnexus.conformance.run import FixtureResult

SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
        "names": {"type": "array", "items": {"type": "string"}},
        "one": {"oneOf": [{"$ref": "#/$defs/Row"}, {"type": "null"}]},
    },
    "$defs": {"Row": {"type": "object", "properties": {"id": {"type": "integer"}}}},
}


def fixture(answer: dict[str, Any], file: dict[str, Any]) -> Fixture:
    return parse_fixture(
        {
            "test_id": "one",
            "description": "A fixture that a test made up",
            "covers": {"return_value": {"act": ["claimed"]}},
            "action": {"tool": "act", "params": {"a": 1}},
            "postcondition": {"return_value": answer, "state_files": {".nexus/state/plan.json": file}},
        }
    )


def test_what_nothing_touches_is_listed() -> None:
    results = [FixtureResult("one", "mcp", "passed", seen=(("act", {"x": {"y": 1}, "z": [1], "claimed": True}),))]
    fixtures = [fixture({"$.x.y": 1, "$.z.length": 1, "$.gone": None}, {"$.rows[0].id": 1, "$.names": None})]

    found = compute_coverage(fixtures, results, frozenset({("act", "a"), ("act", "b")}), {"plan.schema.json": SCHEMA})

    assert found == (
        CoverageShare("parameter", 2, ("act: b",)),
        CoverageShare("return field", 5, ("act: claimed", "act: z[]")),
        CoverageShare(
            "schema field", 6, tuple(f"plan.schema.json: {name}" for name in ("names", "names[]", "one", "one.id"))
        ),
    )


def test_fields_of_answers_and_schemas_have_the_same_names() -> None:
    value = {"rows": [{"id": 1}, {"id": 2}], "names": ["x"], "one": {"id": 1}}

    assert sorted(set(fields_of_value(value))) == sorted(fields_of_schema(SCHEMA))


def test_a_file_of_rows_has_the_fields_of_its_rows() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"id": {}, "files": {"items": {}}}}}

    assert list(fields_of_schema(schema)) == ["id", "files", "files[]"]
