"""One event: a line of ASCII JSON that names the digest of the line before it."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.canonical import LARGEST_INTEGER, canonical, parse
from gitnexus.base.errors import Invalid
from gitnexus.events.kinds import LONGEST_NAME

LONGEST_LINE = 256 * 1024
# A run is a folder's name and the last part of a ref: minted here, never taken from what an agent says.
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
# Everything beyond ASCII is escaped, so that no reader finds a line's end at U+2028, U+0085 or \x1c.
_WRITE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
_READ = json.JSONDecoder().raw_decode


class Event(NamedTuple):
    """What happened, as `actor` did it. `seq` orders events; `time` is only told. A tuple: there are many of them."""

    seq: int
    time: str
    actor: str
    kind: str
    body: Mapping[str, Any]
    prev: str

    def line(self) -> bytes:
        """Return the stored line, without its newline. Raises: Invalid."""
        body = dict(self.body)
        _plain(body, 0)
        try:
            raw = _WRITE(self._asdict() | {"body": body}).encode("ascii")
        except ValueError as exc:
            raise Invalid(f"this cannot be an event: {exc}") from exc
        if len(raw) > LONGEST_LINE:
            raise Invalid(
                f"an event of {len(raw)} bytes is too long", hint="keep it as an artifact and name its digest"
            )
        return raw


def from_line(raw: bytes) -> Event:
    """Return the event in a line without its newline. Raises: Invalid."""
    value = _flat(raw) or parse(raw)
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


def _flat(raw: bytes) -> dict[str, Any] | None:
    """Return what `parse` would, of a line with nothing nested in its body and nothing escaped; None of any other.

    Most of a long log is such lines. Without a backslash each quotation mark begins or ends a string, so that their
    number tells whether a key stands twice, and `parse` need not look at every one.
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


def digest(raw: bytes) -> str:
    """Return the digest of a line (without its newline), an artifact, or anything else that is bytes."""
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def genesis(run: str, definition: str) -> str:
    """Return what the first event has for the line before it: a log fits one run of one definition only."""
    return digest(canonical({"definition": definition, "run": run}))


def definition_hash(workflow: Mapping[str, Any]) -> str:
    """Return the hash of a workflow definition, over all of it but the hash itself."""
    return digest(canonical({key: value for key, value in workflow.items() if key != "definition_hash"}))


def checked_run(run: str) -> str:
    """Return `run` if it can be the id of a run. Raises: Invalid."""
    if not _RUN.fullmatch(run):
        raise Invalid(f"{run[:80]!r} cannot be the id of a run", hint="letters, digits, - and _; at most 80")
    return run


def checked_actor(actor: str) -> str:
    """Return `actor` if it is a name. Raises: Invalid."""
    if not 0 < len(actor) <= LONGEST_NAME:
        raise Invalid(f"an actor's name has 1 to {LONGEST_NAME} characters")
    _plain(actor, 0)
    return actor


def _plain(value: Any, depth: int) -> None:
    """Refuse what two readers could take for different things: fractions, huge numbers, half characters."""
    if depth > 32:
        raise Invalid("this cannot be an event: it is nested too deeply")
    if type(value) is str:
        if not value.isascii() and any("\ud800" <= ch <= "\udfff" for ch in value):
            raise Invalid("this cannot be an event: it holds half of a surrogate pair")
    elif type(value) is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise Invalid("this cannot be an event: keys are ASCII text")
            _plain(item, depth + 1)
    elif type(value) is list:
        for item in value:
            _plain(item, depth + 1)
    elif not (value is None or type(value) is bool or (type(value) is int and abs(value) <= LARGEST_INTEGER)):
        raise Invalid(f"this cannot be an event: it holds a {type(value).__name__}")
