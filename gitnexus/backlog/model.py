"""The record of a backlog task, in the form of CLEO's schema 2.10.0.

An optional field that is missing or of a wrong type counts as absent and is written back exactly as it was read. So a
record keeps the JSON value it was read from, and only changed fields are laid over it.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord

if TYPE_CHECKING:
    from gitnexus.backlog.lease import TaskClaim
    from gitnexus.backlog.relation import TaskRelation

Status = Literal["pending", "active", "blocked", "done", "cancelled"]
Priority = Literal["critical", "high", "medium", "low"]
Kind = Literal["epic", "task", "subtask"]
STATUSES, PRIORITIES, KINDS = map(get_args, (Status, Priority, Kind))
OPEN = ("pending", "active", "blocked")
CLOSED = ("done", "cancelled")
# Fields that are ours: CLEO's files never hold them.
OURS = ("rev", "uid", "claim", "aliases", "stamps", "uids")
# Of these, what an answer leaves out: they are how a record is kept.
_HIDDEN = ("stamps", "uids")

LONGEST_TITLE = 120
# A number beyond this is kept as it is and not counted on: one odd record must not blow up all that follow.
_LARGEST_NUMBER = 10**9


class BacklogTask(StoredRecord):
    """One task; `unknown` is the whole value from which it was read."""

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
    relates: "tuple[TaskRelation, ...]" = ()
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
    claim: "TaskClaim | None" = None
    aliases: tuple[str, ...] = ()
    # Tasks of other projects that it names: the reference as it is stored, and the `uid` of the task that is meant.
    uids: Mapping[str, str] | None = None

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
        """Return the JSON value: as it was read, with the changed fields."""
        out = dict(self.unknown)
        for key, (name, read, default) in _BY_KEY.items():
            now = getattr(self, name)
            was = read(out[key]) if key in out else None
            if now != (default if was is None else was):
                if now is None:
                    out.pop(key, None)
                else:
                    out[key] = _json_value(now)
        return out

    def shown(self) -> dict[str, Any]:
        """Return the fields for output: parsed, lists always present, missing values left out."""
        understood = {key: _json_value(getattr(self, name)) for key, (name, _, _) in _BY_KEY.items()}
        absent = {key for key, value in understood.items() if value is None}
        found = {**self.unknown, **understood}
        return {key: value for key, value in found.items() if key not in absent and key not in _HIDDEN}

    def unreadable(self) -> list[str]:
        """Return the fields of the JSON value that could not be parsed; for lists, the positions."""
        found = []
        for key, (_, read, _) in _BY_KEY.items():
            given = self.unknown.get(key)
            if given is None:
                continue
            if read(given) is None:
                found.append(key)
            elif isinstance(given, list):
                plain = {"relates": dict}.get(key, str)
                bad = [at for at, one in enumerate(given) if type(one) is not plain or (one and not read([one]))]
                found += [f"{key}[{at}]" for at in bad]
        return found

    @property
    def is_open(self) -> bool:
        """Return True unless it is done or cancelled."""
        return self.status in OPEN

    def held_by(self, now: datetime) -> str | None:
        """Return the worker that holds a claim now."""
        return self.claim.by if self.claim is not None and self.claim.holds(now) else None


def is_task_id(text: str) -> bool:
    """True for T and a number, in plain digits."""
    return text[:1] == "T" and text.isascii() and text[1:].isdecimal()


def number_of_id(task_id: str) -> int:
    """Return the number of an id, 0 if it is too large for a number."""
    digits = task_id[1:]
    return int(digits) if len(digits) < 20 and int(digits) < _LARGEST_NUMBER else 0


def id_sort_key(task_id: str) -> tuple[int, int, str]:
    """Return the sort key of an id: its number, with or without leading zeros."""
    return (number_of_id(task_id) or _LARGEST_NUMBER, len(task_id), task_id)


_TEXT = frozenset({str})


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _id_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and is_task_id(value) else None


def _count_or_none(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _texts_or_none(value: Any) -> tuple[str, ...] | None:
    """Return the texts of a list without elements of other types."""
    if not isinstance(value, list):
        return None
    return tuple(value) if _TEXT.issuperset(map(type, value)) else tuple(one for one in value if type(one) is str)


def _references(value: Any) -> tuple[str, ...] | None:
    """Return references; a value that is not text becomes a reference to nothing, which blocks the task."""
    if not isinstance(value, list):
        return None
    return tuple(value) if _TEXT.issuperset(map(type, value)) else tuple(map(_as_text, value))


def _as_text(value: Any) -> str:
    return value if type(value) is str else json.dumps(value)


def _choice_reader(words: tuple[str, ...]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, str) and value in words else None


def _relations_or_none(value: Any) -> "tuple[TaskRelation, ...] | None":
    if not isinstance(value, list):
        return None
    from gitnexus.backlog.relation import (
        TaskRelation,  # a class costs a short command a millisecond: only who has one pays
    )

    found = []
    for item in value:
        with contextlib.suppress(Invalid):
            found.append(TaskRelation.from_value(item, "relates"))
    return tuple(found)


def _claim_or_none(value: Any) -> "TaskClaim | None":
    from gitnexus.backlog.lease import TaskClaim

    try:
        return TaskClaim.from_value(value, "claim")
    except Invalid:
        return None


def _uids(value: Any) -> dict[str, str] | None:
    if not isinstance(value, dict):
        return None
    return {ref: uid for ref, uid in value.items() if isinstance(uid, str)} or None


def _json_value(value: Any) -> Any:
    if isinstance(value, StoredRecord):
        return value.plain()
    return [_json_value(item) for item in value] if isinstance(value, tuple) else value


_Read = Callable[[Any], Any]
_BY_KEY: Mapping[str, tuple[str, _Read, Any]] = {
    "id": ("id", _id_or_none, None),
    "title": ("title", _text_or_none, None),
    "status": ("status", _choice_reader(STATUSES), "pending"),
    "priority": ("priority", _choice_reader(PRIORITIES), "medium"),
    "type": ("type", _choice_reader(KINDS), "task"),
    "parentId": ("parent_id", _id_or_none, None),
    "description": ("description", _text_or_none, None),
    "labels": ("labels", _texts_or_none, ()),
    "files": ("files", _texts_or_none, ()),
    "acceptance": ("acceptance", _texts_or_none, ()),
    "notes": ("notes", _texts_or_none, ()),
    "depends": ("depends", _references, ()),
    "relates": ("relates", _relations_or_none, ()),
    "blockedBy": ("blocked_by", _text_or_none, None),
    "phase": ("phase", _text_or_none, None),
    "size": ("size", _text_or_none, None),
    "createdAt": ("created_at", _text_or_none, None),
    "updatedAt": ("updated_at", _text_or_none, None),
    "completedAt": ("completed_at", _text_or_none, None),
    "cancelledAt": ("cancelled_at", _text_or_none, None),
    "cancellationReason": ("cancellation_reason", _text_or_none, None),
    "rev": ("rev", _count_or_none, 0),
    "uid": ("uid", _text_or_none, None),
    "claim": ("claim", _claim_or_none, None),
    "aliases": ("aliases", _texts_or_none, ()),
    "uids": ("uids", _uids, None),
}
_DEFAULTS = {name: default for name, _, default in _BY_KEY.values()}
# The order of fields that people who read CLEO's files are used to.
SCHEMA_ORDER = tuple(_BY_KEY)
