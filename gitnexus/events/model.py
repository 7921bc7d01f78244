"""One event: a line of ASCII JSON that holds the digest of the line before it; with parser, digests and id checks."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.canonical import LARGEST_INTEGER, canonical_json, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.events.kinds import LONGEST_NAME

LONGEST_LINE = 256 * 1024
# A run is a folder's name and the last part of a ref: minted here, never taken from what an agent says.
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
# Everything beyond ASCII is escaped, so that no reader finds a line's end at U+2028, U+0085 or \x1c.
_WRITE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
_READ = json.JSONDecoder().raw_decode


class Event(NamedTuple):
    """One event, caused by `actor`. `seq` defines the order; `time` is informative. A tuple, because there are many."""

    seq: int
    time: str
    actor: str
    kind: str
    body: Mapping[str, Any]
    prev: str

    def line(self) -> bytes:
        """Return the stored line, without its newline. Raises: Invalid."""
        body = dict(self.body)
        _check_plain_value(body, 0)
        try:
            raw = _WRITE(self._asdict() | {"body": body}).encode("ascii")
        except ValueError as exc:
            raise Invalid(f"this cannot be an event: {exc}") from exc
        if len(raw) > LONGEST_LINE:
            raise Invalid(
                f"an event of {len(raw)} bytes is too long", hint="keep it as an artifact and name its digest"
            )
        return raw


def parse_event_line(raw: bytes) -> Event:
    """Parse a line without its newline into an event. Raises: Invalid."""
    value = _parse_flat_line(raw) or parse_json(raw)
    try:
        seq, time, actor, kind = value["seq"], value["time"], value["actor"], value["kind"]
        body, prev = value["body"], value["prev"]
    except (KeyError, TypeError) as exc:
        raise Invalid("not an event: its fields are others") from exc
    if len(value) != 6:
        raise Invalid("not an event: its fields are others")
    if not (type(seq) is int and type(body) is dict and type(time) is type(actor) is type(kind) is type(prev) is str):
        raise Invalid("not an event: a field has the wrong type")
    # What Event(…) does, without a call in between: a replay makes 100,000 of them.
    return tuple.__new__(Event, (seq, time, actor, kind, body, prev))


def _parse_flat_line(raw: bytes) -> dict[str, Any] | None:
    """Return what `parse_event_line` would, for a line without nesting and escapes in its body; None for any other.

    Most lines of a long log are like that. Without a backslash each quotation mark begins or ends a string, so their
    number shows whether a key occurs twice, and the full parser is not needed.
    """
    if b"\\" in raw:
        return None
    try:
        text = raw.decode("ascii")
        value, end = _READ(text)
        body = value["body"]
        strings = len(value) + len(body) + 4
        for item in (value["seq"], *body.values()):
            if type(item) is str:
                strings += 1
            elif type(item) is not bool and (type(item) is not int or abs(item) > LARGEST_INTEGER):
                return None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return value if text.count('"') == 2 * strings and end == len(text) else None


def sha256_digest(raw: bytes) -> str:
    """Return the digest of bytes: a line (without its newline), an artifact, or anything else."""
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def genesis_digest(run: str, definition: str) -> str:
    """Return the previous digest of the first event, which binds a log to one run and one definition."""
    return sha256_digest(canonical_json({"definition": definition, "run": run}))


def definition_hash(workflow: Mapping[str, Any]) -> str:
    """Return the hash of a workflow definition, over everything but the hash itself."""
    return sha256_digest(canonical_json({key: value for key, value in workflow.items() if key != "definition_hash"}))


def require_run_id(run: str) -> str:
    """Return `run` if it is a valid run id. Raises: Invalid."""
    if not _RUN.fullmatch(run):
        raise Invalid(f"{run[:80]!r} cannot be the id of a run", hint="letters, digits, - and _; at most 80")
    return run


def require_actor_name(actor: str) -> str:
    """Return `actor` if it is a valid name. Raises: Invalid."""
    if not 0 < len(actor) <= LONGEST_NAME:
        raise Invalid(f"an actor's name has 1 to {LONGEST_NAME} characters")
    _check_plain_value(actor, 0)
    return actor


def _check_plain_value(value: Any, depth: int) -> None:
    """Reject values that two readers could interpret differently: fractions, huge numbers, lone surrogates."""
    if depth > 32:
        raise Invalid("this cannot be an event: it is nested too deeply")
    if type(value) is str:
        if not value.isascii() and any("\ud800" <= ch <= "\udfff" for ch in value):
            raise Invalid("this cannot be an event: it holds an unpaired surrogate")
    elif type(value) is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise Invalid("this cannot be an event: keys are ASCII text")
            _check_plain_value(item, depth + 1)
    elif type(value) is list:
        for item in value:
            _check_plain_value(item, depth + 1)
    elif not (value is None or type(value) is bool or (type(value) is int and abs(value) <= LARGEST_INTEGER)):
        raise Invalid(f"this cannot be an event: it holds a {type(value).__name__}")
