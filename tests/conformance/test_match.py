"""Matchers: what fits, above all what does not, and which expectations nobody could evaluate."""

from typing import Any

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.conformance.match import parse_assertions


def why_not(expected: Any, value: Any) -> str | None:
    """Return what an assertion on `$.x` says to `value`."""
    return parse_assertions({"$.x": expected}, "here")[0].why_not(value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("a", "a"),
        (1, 1),
        (1, 1.0),
        (True, True),
        (None, None),
        ({}, 0),
        ({}, False),
        ({}, []),
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 2}, "ab"),
        ({"type": "string", "pattern": "b$"}, "ab"),
        ({"type": "number"}, 1.5),
        ({"type": "number", "min": 1, "max": 1}, 1),
        ({"type": "boolean"}, False),
        ({"type": "iso8601"}, "2026-02-01T12:00:00Z"),
        ({"type": "iso8601"}, "2026-02-01T12:00:00.123+01:00"),
    ],
)
def test_a_value_that_fits_is_taken(expected: Any, value: Any) -> None:
    assert why_not(expected, {"x": value}) is None


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("a", "A"),
        ("1", 1),
        (1, "1"),
        (1, 2),
        (1, True),
        (0, False),
        (True, 1),
        (False, 0),
        (False, None),
        (None, 0),
        (None, ""),
        (None, []),
        ("a", ["a"]),
        ({}, None),
        ({"type": "string"}, 1),
        ({"type": "string"}, None),
        ({"type": "string", "minLength": 3}, "ab"),
        ({"type": "string", "pattern": "^b"}, "ab"),
        ({"type": "number"}, "1"),
        ({"type": "number"}, True),
        ({"type": "number", "min": 2}, 1),
        ({"type": "number", "max": 2}, 3),
        ({"type": "boolean"}, 0),
        ({"type": "boolean"}, "true"),
        ({"type": "iso8601"}, "2026-02-01"),
        ({"type": "iso8601"}, "2026-02-01T12:00:00"),
        ({"type": "iso8601"}, "2026-02-31T12:00:00Z"),
        ({"type": "iso8601"}, "yesterday"),
        ({"type": "iso8601"}, 1769947200),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_a_reason(expected: Any, value: Any) -> None:
    assert (why_not(expected, {"x": value}) or "").startswith("$.x is ")


@pytest.mark.parametrize("expected", ["a", 0, False, {}, {"type": "string"}, {"type": "number"}, {"type": "boolean"}])
def test_nothing_fits_where_something_is_expected(expected: Any) -> None:
    assert why_not(expected, {}) is not None


def test_null_is_also_what_is_missing() -> None:
    assert why_not(None, {}) is None


@pytest.mark.parametrize(
    "expected",
    [
        [],
        [1],
        {"kind": "string"},
        {"min": 1},
        {"type": "text"},
        {"type": ["string"]},
        {"type": "string", "min": 1},
        {"type": "string", "maxLength": 1},
        {"type": "number", "pattern": "1"},
        {"type": "boolean", "min": 0},
        {"type": "number", "min": "1"},
        {"type": "string", "minLength": True},
        {"type": "string", "pattern": "("},
        {"type": "string", "pattern": 1},
    ],
)
def test_an_expectation_that_nobody_could_evaluate_is_refused(expected: Any) -> None:
    with pytest.raises(Invalid):
        parse_assertions({"$.x": expected}, "here")
