"""A tool's real answer, made wrong in every way that its result class must refuse."""

import copy
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from gitnexus.base.results import WrongResult
from gitnexus.base.tool import Tool, load_result, output_schema_of

# Of a type that no field of any result has.
_STRANGE = [[[]]]


def require_right_and_refuse_wrong(tool: Tool[Any], answer: dict[str, Any]) -> int:
    """Check that class and schema take an answer, and none of the wrong ones; return how many there were."""
    assert _refusals(tool, answer) == ("", ""), tool.name
    number = 0
    for place, wrong in wrong_answers(answer, output_schema_of(tool) or {}):
        by_class, by_schema = _refusals(tool, wrong)
        assert by_class.startswith(f"the result of {tool.name}"), f"{tool.name}: the class takes {place}"
        assert by_schema, f"{tool.name}: the schema takes {place}"
        number += 1
    return number


def wrong_answers(answer: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield answers with a strange field, with a value of another type, and without a field that is required."""
    yield "a strange field", {**answer, "strange": 1}
    yield from ((f"no {name}", {k: v for k, v in answer.items() if k != name}) for name in schema.get("required", ()))
    for path in _paths(answer):
        wrong = copy.deepcopy(answer)
        holder: Any = wrong
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = _STRANGE
        yield ".".join(map(str, path)), wrong


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in rows:
        yield from _paths(item, (*path, key))


def _refusals(tool: Tool[Any], answer: dict[str, Any]) -> tuple[str, str]:
    form, by_class = load_result(tool), ""
    assert form is not None, f"{tool.name} has no result class"
    try:
        form.check(tool.name, answer)
    except WrongResult as exc:
        by_class = str(exc)
    errors = [error.message for error in Draft202012Validator(output_schema_of(tool) or {}).iter_errors(answer)]
    return by_class, " ".join(errors)
