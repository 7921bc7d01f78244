"""Reading what a program sent: a field of another type than expected counts as missing."""

from collections.abc import Mapping
from typing import Any

_LONGEST = 200


def short(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is text, cut to what a name or an id needs."""
    return text(payload, *names)[:_LONGEST]


def text(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is text and not empty."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def given(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field that should be an object."""
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}


def failed(answer: Any) -> bool:
    """True for what a tool returned where it says itself that it did not do its work."""
    return isinstance(answer, Mapping) and bool(answer.get("error") or answer.get("is_error"))
