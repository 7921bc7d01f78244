"""Canonical JSON (RFC 8785) for what we write, strict JSON for what we read."""

import json
import re
from typing import Any

from gitnexus.base.errors import Invalid

# RFC 8785 numbers are IEEE doubles: beyond this an integer would be rounded silently.
LARGEST_INTEGER = 2**53 - 1
_LONG_NUMBER = re.compile(rb"\d{16}")


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of `value`, the form that digests are taken over."""
    import rfc8785  # only writers need it

    try:
        raw = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as exc:
        raise Invalid(f"this cannot be written as canonical JSON: {exc}") from exc
    if _LONG_NUMBER.search(raw):
        parse(raw)  # a float such as 2.0**60 is written as digits that no strict reader takes back
    return raw


def document(value: Any) -> bytes:
    """Return `value` as a stored file: its canonical bytes and one newline."""
    return canonical(value) + b"\n"


def parse(raw: bytes) -> Any:
    """Return the value of a JSON text, refusing what two readers could understand differently.

    Raises: Invalid.
    """
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer)
        # JSON may spell half a surrogate pair as \ud800; that is no character and could never be written back.
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as exc:
        raise Invalid(f"not valid JSON: {_reason(exc)}") from exc
    return value


def _reason(exc: Exception) -> str:
    if isinstance(exc, UnicodeDecodeError):
        return f"byte {exc.start} is not UTF-8"
    if isinstance(exc, UnicodeEncodeError):
        return "it holds half of a surrogate pair"
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    return str(exc)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key!r} stands twice")
            seen.add(key)
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > LARGEST_INTEGER:
        raise ValueError(f"the integer {digits[:20]} is larger than 2^53 - 1")
    return int(digits)
