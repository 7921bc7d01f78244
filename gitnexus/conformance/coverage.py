"""What no fixture touches: parameters as the server lists them, fields as it answers them, fields of the schemas.

Counted are calls and assertions as they stand, never what a fixture says that it covers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.conformance.fixture import Fixture
from gitnexus.conformance.match import Assertion
from gitnexus.conformance.run import FixtureResult

KINDS = ("parameter", "return field", "schema field")
Names = frozenset[tuple[str, str]]  # tool or schema, and the field
# What an answer holds only after a person said yes: no fixture can bring that about.
_AFTER_A_YES = frozenset({("memory_gc", "commit")})


@dataclass(frozen=True, slots=True)
class CoverageShare:
    """One kind of element: how many there are, and which of them no fixture touches."""

    kind: str
    total: int
    untouched: tuple[str, ...]


def compute_coverage(
    fixtures: Sequence[Fixture], results: Sequence[FixtureResult], parameters: Names, schemas: Mapping[str, Any]
) -> tuple[CoverageShare, ...]:
    """Return the three shares."""
    answers = ((tool, value) for result in results for tool, value in result.seen)
    returned = frozenset((tool, field) for tool, value in answers for field in fields_of_value(value))
    stored = frozenset((name, field) for name, schema in schemas.items() for field in fields_of_schema(schema))
    touched = (passed_parameters(fixtures), asserted_answer_fields(fixtures), asserted_state_fields(fixtures))
    return tuple(
        _make_share(kind, there, used)
        for kind, there, used in zip(KINDS, (parameters, returned, stored), touched, strict=True)
    )


def passed_parameters(fixtures: Iterable[Fixture]) -> Names:
    """Return the parameters that a fixture passes."""
    calls = [step.call for fixture in fixtures for step in fixture.steps]
    return frozenset((call.tool, name) for call in calls for name in call.params)


def asserted_answer_fields(fixtures: Iterable[Fixture]) -> Names:
    """Return the fields of answers that a fixture asserts something about."""
    found: set[tuple[str, str]] = set()
    for fixture in fixtures:
        rows = [(step.call.tool, step.expected) for step in fixture.steps]
        for tool, expected in [*rows, (fixture.steps[-1].call.tool, fixture.last)]:
            found.update((tool, field) for field in _fields_with_parents(expected.answer))
            found.update({(tool, "error")} if expected.fails else ())
    return frozenset(found)


def asserted_state_fields(fixtures: Iterable[Fixture]) -> Names:
    """Return the fields of state files that a fixture asserts something about, by the schema of the file."""
    found: set[tuple[str, str]] = set()
    for fixture in fixtures:
        expected = [*(step.expected for step in fixture.steps), fixture.last]
        for file in (file for one in expected for file in one.files):
            schema = f"{PurePosixPath(file.path).stem}.schema.json"
            found.update((schema, field) for field in _fields_with_parents(file.content))
    return frozenset(found)


def read_schemas(folder: Path) -> dict[str, Any]:
    """Return the schemas of a folder by the names of their files."""
    return {path.name: parse_json(path.read_bytes()) for path in sorted(folder.glob("*.schema.json"))}


def fields_of_value(value: Any, name: str = "") -> Iterator[str]:
    """Return the name of every field in an answer, and of lists that hold no objects also their items."""
    if isinstance(value, dict):
        for key, held in value.items():
            field = f"{name}.{key}".lstrip(".")
            yield field
            yield from fields_of_value(held, field)
    elif isinstance(value, list):
        for item in value:
            yield from fields_of_value(item, f"{name}[]") if isinstance(item, dict) else (f"{name}[]",)


def fields_of_schema(schema: Mapping[str, Any]) -> Iterator[str]:
    """Return the name of every field that a schema knows; a file that is a list of rows has the rows' fields."""
    rows = schema.get("items") if schema.get("type") == "array" else None
    for field in _fields_below(schema, rows or schema, ""):
        yield field.lstrip(".")


def _fields_below(root: Mapping[str, Any], schema: Mapping[str, Any], name: str) -> Iterator[str]:
    for part in _alternative_schemas(root, schema):
        for key, held in part.get("properties", {}).items():
            yield f"{name}.{key}"
            yield from _fields_below(root, held, f"{name}.{key}")
        if "items" in part:
            items = list(_fields_below(root, part["items"], f"{name}[]"))
            yield from items or [f"{name}[]"]


def _alternative_schemas(root: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return a schema and the ones it can mean: the one it refers to, or each of several."""
    yield schema
    if "$ref" in schema:
        yield from _alternative_schemas(root, root["$defs"][schema["$ref"].rpartition("/")[2]])
    for choice in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _alternative_schemas(root, choice)


def _fields_with_parents(assertions: Iterable[Assertion]) -> Iterator[str]:
    """Return the fields of assertions and what they lie in; that something is absent says nothing about it."""
    for assertion in assertions:
        if assertion.expected is None:
            continue
        field = assertion.path.field.removeprefix("[]").lstrip(".")
        while field:
            yield field
            field = field.removesuffix("[]") if field.endswith("[]") else field.rpartition(".")[0]


def _make_share(kind: str, there: Names, touched: Names) -> CoverageShare:
    there -= _AFTER_A_YES
    return CoverageShare(kind, len(there), tuple(f"{owner}: {field}" for owner, field in sorted(there - touched)))
