"""Describes a tool: its name, the class of its parameters, and the function that a call runs.

The class is a pydantic model (`base/parameters.py`), given by name and imported when a call is checked or described, so
that listing the tools does not import pydantic. For a tool of a project's own it is made then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from gitnexus.base.parameters import Parameters

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Tool(Generic[D]):
    """One row of a room's table; `run` gets what that room works with. `parameters` is MODULE:CLASS or returns one."""

    name: str
    words: str
    parameters: "str | Callable[[], type[Parameters]]"
    run: Callable[[D, Mapping[str, Any]], dict[str, Any]]
    reads_only: bool = False
    destructive: bool = False


NO_PARAMETERS = "gitnexus.base.parameters:Parameters"


def load_parameters(tool: Tool[Any]) -> "type[Parameters]":
    """Return the class of a tool's parameters."""
    if not isinstance(tool.parameters, str):
        return tool.parameters()
    module, _, name = tool.parameters.partition(":")
    form: type[Parameters] = getattr(import_module(module), name)
    return form


def check_parameters(tool: Tool[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with numeric strings as numbers. Raises: Invalid, before anything is changed."""
    return load_parameters(tool).check(tool.name, given)


def input_schema_of(tool: Tool[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters."""
    return load_parameters(tool).input_schema()
