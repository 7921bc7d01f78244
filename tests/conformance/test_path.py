"""The JSONPath subset: what it finds, what it does not, and what it refuses to understand."""

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.conformance.path import MISSING, parse_json_path

VALUE = {"a": {"b": [10, {"c": None}, []]}, "length": "a field", "names": {"not-plain": 1}, "text": "four"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a.b[0]", 10),
        ("$.a.b[1].c", None),
        ("$.a.b[-1]", []),
        ("$.a.b[-3]", 10),
        ("$.a.b.length", 3),
        ("$.a.b[2].length", 0),
        ("$.length", "a field"),
        ("$.names.not-plain", 1),
    ],
)
def test_a_path_finds_what_lies_there(path: str, found: object) -> None:
    assert parse_json_path(path).find(VALUE) == found


@pytest.mark.parametrize(
    "path", ["$.b", "$.a.c", "$.a.b[3]", "$.a.b[-4]", "$.a[0]", "$.a.length", "$.text.length", "$.a.b[0].c", "$[0]"]
)
def test_a_path_to_nothing_is_missing_and_not_null(path: str) -> None:
    assert parse_json_path(path).find(VALUE) is MISSING


def test_a_list_at_the_top_has_items_and_a_length() -> None:
    assert parse_json_path("$[0].x").find([{"x": 1}]) == 1
    assert parse_json_path("$.length").find([1, 2]) == 2


@pytest.mark.parametrize(
    "path",
    ["a.b", "", "$a", "$.", "$..a", "$.*", "$.a[*]", "$.a[0:2]", "$.a[?(@.b)]", "$['a']", "$.a b", "$.a[01]", "$.a."],
)
def test_what_is_not_in_the_subset_is_refused(path: str) -> None:
    with pytest.raises(Invalid):
        parse_json_path(path)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("$.tasks[3].id", "tasks[].id"),
        ("$.tasks.length", "tasks"),
        ("$[0].status", "[].status"),
        ("$.deps[-1]", "deps[]"),
    ],
)
def test_coverage_names_a_field_whatever_the_index(path: str, field: str) -> None:
    assert parse_json_path(path).field == field
