"""Describes a tool: its name, the classes of its parameters and its result, and the function that a call runs.

The classes are pydantic models (`base/parameters.py`, `base/results.py`), given by name and imported when a call is
checked or described, so that listing the tools does not import pydantic. For a tool of a project's own, the class of
its parameters is made then.

A result is checked only where NEXUS_CHECK_RESULTS is set, as in our tests and in a conformance run: a tool that did its
work must not report an error because of a field.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from gitnexus.base.parameters import Parameters
    from gitnexus.base.results import ResultClass

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Tool(Generic[D]):
    """One row of a room's table; `run` gets what that room works with.

    `parameters` is MODULE:CLASS or returns a class; `result` is MODULE:CLASS, "" if nothing is said about it.
    """

    name: str
    words: str
    parameters: "str | Callable[[], type[Parameters]]"
    run: Callable[[D, Mapping[str, Any]], dict[str, Any]]
    reads_only: bool = False
    destructive: bool = False
    result: str = ""


CHECK_RESULTS = "NEXUS_CHECK_RESULTS"
NO_PARAMETERS = "gitnexus.base.parameters:Parameters"


def load_parameters(tool: Tool[Any]) -> "type[Parameters]":
    """Return the class of a tool's parameters."""
    form: type[Parameters] = _load_class(tool.parameters) if isinstance(tool.parameters, str) else tool.parameters()
    return form


def load_result(tool: Tool[Any]) -> "type[ResultClass] | None":
    """Return the class of a tool's result, None if it has none."""
    return _load_class(tool.result) if tool.result else None


def check_parameters(tool: Tool[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with numeric strings as numbers. Raises: Invalid, before anything is changed."""
    return load_parameters(tool).check(tool.name, given)


def input_schema_of(tool: Tool[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters."""
    return load_parameters(tool).input_schema()


def output_schema_of(tool: Tool[Any]) -> dict[str, Any] | None:
    """Return the JSON Schema of a tool's result, None if it has none."""
    form = load_result(tool)
    return form.output_schema() if form else None


def check_result(tool: Tool[Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer unchanged; where results are checked, after a check. Raises: WrongResult."""
    if os.environ.get(CHECK_RESULTS) and (form := load_result(tool)):
        form.check(tool.name, answer)
    return answer


def _load_class(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
