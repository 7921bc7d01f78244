"""Writes values as canonical JSON (RFC 8785), and parses JSON strictly: duplicate keys and NaN raise an error."""

import json
import re
from typing import Any

from gitnexus.base.errors import Invalid

# RFC 8785 numbers are IEEE doubles: beyond this an integer would be rounded silently.
LARGEST_INTEGER = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONG_NUMBER = re.compile(rb"\d{16}")


def canonical_json(value: Any) -> bytes:
    """Return `value` as RFC 8785 bytes, the form that digests are computed of."""
    try:
        if _is_simple(value):
            return _SIMPLE.encode(value).encode()
        import rfc8785  # 13 ms, and ten times as slow as json: only for what json would write differently

        raw = rfc8785.dumps(value)
    except (ValueError, RecursionError) as exc:  # rfc8785's own errors are ValueErrors
        raise Invalid(f"this cannot be written as canonical JSON: {exc}") from exc
    if _LONG_NUMBER.search(raw):
        parse_json(raw)  # a float such as 2.0**60 is written as digits that no strict reader takes back
    return raw


def json_document(value: Any) -> bytes:
    """Return the content of a stored file: the canonical bytes of `value` and a newline."""
    return canonical_json(value) + b"\n"


def parse_json(raw: bytes) -> Any:
    """Return the value of a JSON text; refuses what two parsers could read differently.

    Raises: Invalid.
    """
    try:
        text = raw.decode("utf-8")
        # What we wrote ourselves begins at once; looking for blanks costs a short line a quarter of its time.
        value, end = _STRICT.raw_decode(text) if text[:1] == "{" else (None, 0)
        if end == 0 or text[end:].strip(" \t\n\r"):
            value = _STRICT.decode(text)
        # JSON may spell half a surrogate pair as \ud800; that is no character and could never be written back.
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as exc:
        raise Invalid(f"not valid JSON: {_parse_error_reason(exc)}") from exc
    return value


def _is_simple(value: Any) -> bool:
    """Return True if json with sorted keys produces the bytes of RFC 8785: no floats, odd keys or surrogates."""
    if isinstance(value, str):
        return value.isascii() or not _SURROGATE.search(value)
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -LARGEST_INTEGER <= value <= LARGEST_INTEGER
    if isinstance(value, dict):
        for key, item in value.items():
            if not (isinstance(key, str) and key.isascii()):
                return False
            # Most of what we write is plain text: seen here, it costs no call.
            if not (type(item) is str and item.isascii()) and not _is_simple(item):
                return False
        return True
    return isinstance(value, list) and all(map(_is_simple, value))


def _parse_error_reason(exc: Exception) -> str:
    if isinstance(exc, UnicodeDecodeError):
        return f"byte {exc.start} is not UTF-8"
    if isinstance(exc, UnicodeEncodeError):
        return "it holds an unpaired surrogate"
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    return str(exc)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key!r} occurs twice")
            seen.add(key)
    return found


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _parse_integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > LARGEST_INTEGER:
        raise ValueError(f"the integer {digits[:20]} is larger than 2^53 - 1")
    return int(digits)


_SIMPLE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
# Made once: json.loads would make a decoder for every text, which costs as much as a small text itself.
_STRICT = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_int=_parse_integer)
