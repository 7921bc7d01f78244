"""Expected values of fixtures: exact scalars, null, and matcher objects. Each can say why a value does not fit."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.conformance.path import MISSING, JsonPath, parse_json_path

_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})")
_MATCHER_KEYS = {
    "iso8601": {"type"},
    "string": {"type", "minLength", "pattern"},
    "number": {"type", "min", "max"},
    "boolean": {"type"},
}


@dataclass(frozen=True, slots=True)
class Assertion:
    """One line of a fixture: at this path, this value."""

    path: JsonPath
    expected: Any

    def why_not(self, value: Any) -> str | None:
        """Return why `value` does not hold what is expected, None if it does."""
        found = self.path.find(value)
        reason = _why_unequal(self.expected, found)
        return None if reason is None else f"{self.path.text} is {_format_value(found)}, {reason}"


def parse_assertions(given: Any, where: str) -> tuple[Assertion, ...]:
    """Return the assertions in an object of paths. Raises: Invalid for one that could not be evaluated."""
    if not isinstance(given, dict):
        raise Invalid(f"{where} should be an object of paths")
    found = []
    for text, expected in given.items():
        try:
            path = parse_json_path(text)
            _check_expected_value(expected)
        except Invalid as exc:
            raise Invalid(f"{where}: {text}: {exc.message}") from exc
        found.append(Assertion(path, expected))
    return tuple(found)


def _check_expected_value(expected: Any) -> None:
    if expected is None or isinstance(expected, (str, bool, int, float)):
        return
    if not isinstance(expected, dict):
        raise Invalid("a list cannot be expected; name its length and its items")
    if not expected:
        return
    kind = expected.get("type")
    if not isinstance(kind, str) or kind not in _MATCHER_KEYS:
        raise Invalid(f"a matcher's type should be one of {', '.join(_MATCHER_KEYS)}")
    unknown = sorted(set(expected) - _MATCHER_KEYS[kind])
    if unknown:
        raise Invalid(f"a matcher of type {kind} has no {', '.join(unknown)}")
    for name in ("min", "max", "minLength"):
        if name in expected and not _is_number(expected[name]):
            raise Invalid(f"{name} should be a number")
    _check_matcher_pattern(expected)


def _check_matcher_pattern(expected: dict[str, Any]) -> None:
    if "pattern" not in expected:
        return
    try:
        re.compile(expected["pattern"])
    except (re.error, TypeError) as exc:
        raise Invalid(f"the pattern is not a regular expression: {exc}") from exc


def _why_unequal(expected: Any, found: Any) -> str | None:
    if expected is None:
        return None if found is None or found is MISSING else "not null or missing"
    if isinstance(expected, dict):
        return _why_no_match(expected, found)
    same = (_is_number(found) and _is_number(expected)) or type(found) is type(expected)
    return None if same and found == expected else f"not {_format_value(expected)}"


def _why_no_match(matcher: dict[str, Any], found: Any) -> str | None:
    match matcher.get("type"):
        case None:
            return None if found is not None and found is not MISSING else "where something should exist"
        case "boolean":
            return None if isinstance(found, bool) else "not a boolean"
        case "iso8601":
            return None if _is_iso_time(found) else "not an ISO 8601 time"
        case "number":
            return _why_no_number(matcher, found)
        case _:
            return _why_no_string(matcher, found)


def _why_no_number(matcher: dict[str, Any], found: Any) -> str | None:
    if not _is_number(found):
        return "not a number"
    if found < matcher.get("min", found):
        return f"less than {matcher['min']}"
    return f"more than {matcher['max']}" if found > matcher.get("max", found) else None


def _why_no_string(matcher: dict[str, Any], found: Any) -> str | None:
    if not isinstance(found, str):
        return "not a string"
    if len(found) < matcher.get("minLength", 0):
        return f"shorter than {matcher['minLength']}"
    fits = re.search(matcher.get("pattern", ""), found) is not None
    return None if fits else f"not like {matcher['pattern']}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_iso_time(value: Any) -> bool:
    if not isinstance(value, str) or not _STAMP.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:119] + "…"
