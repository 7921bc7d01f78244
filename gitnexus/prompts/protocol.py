"""Defines a client library for prompts: takes a prompt with its inputs, returns the answer's value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gitnexus import __version__
from gitnexus.base.errors import Failed
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.functions import PromptFunction


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """A function, the prompt files that define it, and its inputs, framed and without secrets."""

    function: PromptFunction
    files: Mapping[str, str]
    args: Mapping[str, str]


class AskingWay(Protocol):
    """A client library. It does not check the value of an answer: the caller does that for every library."""

    name: str

    def ask(self, question: PromptQuestion, connection: ModelConnection) -> Any:
        """Return the JSON value of the model's answer. Raises: UnusableReply, RetryLater, Failed, Invalid."""


def missing_library_error(extra: str, library: str) -> Failed:
    """Return the error for a library that is not installed."""
    install = f"pip install 'git-nexus[{extra}]=={__version__}'"
    return Failed(
        f"{library} is not installed",
        hint=f"{install}; or set prompts.via to the other one, baml or pydantic-ai",
        fix=install,
    )
