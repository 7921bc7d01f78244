"""How the runner reaches the tools: what a way there must offer, and the answer that comes back."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from gitnexus.conformance.sandbox import FixtureSandbox


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What came back. `broken` says how it offends the protocol itself; then nothing else of it counts."""

    value: Any
    failed: bool
    broken: str | None = None

    @property
    def error(self) -> str:
        """The text of the error, empty if there is none."""
        found = self.value.get("error") if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else ""


class Caller(Protocol):
    """An open way to the tools of one repository."""

    async def names(self) -> frozenset[str]:
        """Return the available tools, by the contract's names."""
        ...

    async def call(self, tool: str, params: Mapping[str, Any]) -> ToolAnswer:
        """Call one."""
        ...


class Transport(Protocol):
    """A way to the tools."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    def open(self, place: FixtureSandbox) -> AbstractAsyncContextManager[Caller]:
        """Return the connection to the tools of one sandbox. Raises: Failed when entered, if there is none."""
        ...


def check_answer(value: Any, failed: bool) -> ToolAnswer:
    """Return the answer, broken if its two error channels do not agree."""
    if not isinstance(value, dict):
        return ToolAnswer(value, failed, f"the answer is {type(value).__name__}, not an object")
    named = "error" in value
    if failed != named:
        channels = "an error without {'error': …}" if failed else "{'error': …} without the sign of an error"
        return ToolAnswer(value, failed, f"the answer is {channels}")
    if named and (not isinstance(value["error"], str) or not value["error"]):
        return ToolAnswer(value, failed, "the answer's error is not a text")
    return ToolAnswer(value, failed)
