"""A task of the backlog, in the form of CLEO's schema 2.10.0.

A reader takes what it finds: an optional field that is missing or of a wrong type counts as absent and is written back
exactly as it came. So a record keeps the JSON value it was read from, and only what was changed is laid over it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord

if TYPE_CHECKING:
    from gitnexus.backlog.lease import Claim
    from gitnexus.backlog.relation import Relation

Status = Literal["pending", "active", "blocked", "done", "cancelled"]
Priority = Literal["critical", "high", "medium", "low"]
Kind = Literal["epic", "task", "subtask"]
STATUSES, PRIORITIES, KINDS = map(get_args, (Status, Priority, Kind))
OPEN = ("pending", "active", "blocked")
CLOSED = ("done", "cancelled")
# Fields that are ours: CLEO's files never hold them.
OURS = ("rev", "uid", "claim", "aliases", "stamps")

LONGEST_TITLE = 120
# A number beyond this is kept as it is and not counted on: one odd record must not blow up all that follow.
_LARGEST_NUMBER = 10**9


class BacklogTask(StoredRecord):
    """One task; `unknown` is the whole value that it was read from."""

    id: str
    title: str
    status: Status = "pending"
    priority: Priority = "medium"
    type: Kind = "task"
    parent_id: str | None = None
    description: str | None = None
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    relates: "tuple[Relation, ...]" = ()
    blocked_by: str | None = None
    phase: str | None = None
    size: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None
    cancelled_at: str | None = None
    cancellation_reason: str | None = None
    rev: int = 0
    uid: str | None = None
    claim: "Claim | None" = None
    aliases: tuple[str, ...] = ()

    @classmethod
    def from_value(cls, value: Any, where: str) -> Self:
        """Return the task in a JSON value. Raises: Invalid without an id and a title."""
        if not isinstance(value, dict):
            raise Invalid(f"{where} should be an object")
        found = {}
        for key, given in value.items():
            row = _BY_KEY.get(key)
            if row is not None:
                read = row[1](given)
                if read is not None:
                    found[row[0]] = read
        for name in ("id", "title"):
            if name not in found:
                raise Invalid(f"{where}: {name} should be " + ("T and a number" if name == "id" else "text"))
        # As the generated __init__ does it, four times as quick: a list reads ten thousand of them.
        record = object.__new__(cls)
        record.__dict__.update(_DEFAULTS, unknown=value, **found)
        return record

    def plain(self) -> dict[str, Any]:
        """Return the JSON value: as it was read, with what was changed since."""
        out = dict(self.unknown)
        for key, (name, read, default) in _BY_KEY.items():
            now = getattr(self, name)
            was = read(out[key]) if key in out else None
            if now != (default if was is None else was):
                if now is None:
                    out.pop(key, None)
                else:
                    out[key] = _json(now)
        return out

    def shown(self) -> dict[str, Any]:
        """Return the fields for an answer: as they are understood, lists always there, nothing for what is absent."""
        understood = {key: _json(getattr(self, name)) for key, (name, _, _) in _BY_KEY.items()}
        absent = {key for key, value in understood.items() if value is None}
        foreign = {key: value for key, value in self.unknown.items() if key not in absent and key != "stamps"}
        return foreign | {key: value for key, value in understood.items() if key not in absent}

    @property
    def is_open(self) -> bool:
        """True until it is done or cancelled."""
        return self.status in OPEN

    def held_by(self, now: datetime) -> str | None:
        """Return who works on it now."""
        return self.claim.by if self.claim is not None and self.claim.holds(now) else None


def is_id(text: str) -> bool:
    """True for T and a number, in plain digits."""
    return text[:1] == "T" and text.isascii() and text[1:].isdecimal()


def number_of(task_id: str) -> int:
    """Return the number of an id, 0 for one that is too large to count on."""
    digits = task_id[1:]
    return int(digits) if len(digits) < 20 and int(digits) < _LARGEST_NUMBER else 0


def in_order(task_id: str) -> tuple[int, int, str]:
    """Return what ids are sorted by: their number, however it is padded."""
    return (number_of(task_id) or _LARGEST_NUMBER, len(task_id), task_id)


_TEXT = frozenset({str})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) and is_id(value) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _texts(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and _TEXT.issuperset(map(type, value)) else None


def _among(words: tuple[str, ...]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, str) and value in words else None


def _relations(value: Any) -> "tuple[Relation, ...] | None":
    if not isinstance(value, list):
        return None
    from gitnexus.backlog.relation import Relation  # a class costs a short command a millisecond: only who has one pays

    try:
        return tuple(Relation.from_value(item, "relates") for item in value)
    except Invalid:
        return None


def _claim(value: Any) -> "Claim | None":
    from gitnexus.backlog.lease import Claim

    try:
        return Claim.from_value(value, "claim")
    except Invalid:
        return None


def _json(value: Any) -> Any:
    if isinstance(value, StoredRecord):
        return value.plain()
    return [_json(item) for item in value] if isinstance(value, tuple) else value


_Read = Callable[[Any], Any]
_BY_KEY: Mapping[str, tuple[str, _Read, Any]] = {
    "id": ("id", _id, None),
    "title": ("title", _text, None),
    "status": ("status", _among(STATUSES), "pending"),
    "priority": ("priority", _among(PRIORITIES), "medium"),
    "type": ("type", _among(KINDS), "task"),
    "parentId": ("parent_id", _id, None),
    "description": ("description", _text, None),
    "labels": ("labels", _texts, ()),
    "files": ("files", _texts, ()),
    "acceptance": ("acceptance", _texts, ()),
    "notes": ("notes", _texts, ()),
    "depends": ("depends", _texts, ()),
    "relates": ("relates", _relations, ()),
    "blockedBy": ("blocked_by", _text, None),
    "phase": ("phase", _text, None),
    "size": ("size", _text, None),
    "createdAt": ("created_at", _text, None),
    "updatedAt": ("updated_at", _text, None),
    "completedAt": ("completed_at", _text, None),
    "cancelledAt": ("cancelled_at", _text, None),
    "cancellationReason": ("cancellation_reason", _text, None),
    "rev": ("rev", _count, 0),
    "uid": ("uid", _text, None),
    "claim": ("claim", _claim, None),
    "aliases": ("aliases", _texts, ()),
}
_DEFAULTS = {name: default for name, _, default in _BY_KEY.values()}
# The order of fields that people who read CLEO's files are used to.
SCHEMA_ORDER = tuple(_BY_KEY)
