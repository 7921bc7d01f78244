"""Reads fields of a program's message. A field of an unexpected type counts as missing."""

from collections.abc import Mapping
from typing import Any

_LONGEST = 200


def short_text_field(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is text, cut to the length of a name or id."""
    return text_field(payload, *names)[:_LONGEST]


def text_field(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is non-empty text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def mapping_field(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field that should be an object; empty if it is not."""
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}


def is_failed_answer(answer: Any) -> bool:
    """Return True if a tool's result says that the tool failed."""
    return isinstance(answer, Mapping) and bool(answer.get("error") or answer.get("is_error"))
