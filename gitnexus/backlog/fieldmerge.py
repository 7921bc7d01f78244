"""Merges one task that two clones changed, field by field; where both changed a field, the higher Lamport count wins.

The result does not depend on the order in which clones meet: each field gets its latest change, and a set has all
additions and lacks all removals. Only a claim depends on which side was published first.
"""

from datetime import datetime
from typing import Any, NamedTuple

from gitnexus.backlog.lease import TaskClaim
from gitnexus.backlog.stamps import (
    KEY,
    SETS,
    STATUS,
    Value,
    is_same_value,
    mergeable_fields,
    rev_of_task,
    stamps_of_task,
)
from gitnexus.base.canonical import canonical_json
from gitnexus.base.errors import Invalid

_LATEST = ("rev", "updatedAt")


class _Field(NamedTuple):
    """A value, and the count of the change that set it."""

    value: Any
    at: int


def merge_task_fields(base: Value, mine: Value, theirs: Value, now: datetime) -> dict[str, Any]:
    """Return both sides' changes in one record. Wall clocks matter only for the expiry of a claim."""
    out: dict[str, Any] = {}
    for key in ("id", "uid", "uids", "claim", *_LATEST, *SETS):
        value = _merge_special_field(key, base.get(key), mine.get(key), theirs.get(key), now)
        if value is not None:
            out[key] = value
    marks: dict[str, int] = {}
    for name in sorted(
        mergeable_fields(mine).keys()
        | mergeable_fields(theirs).keys()
        | stamps_of_task(mine).keys()
        | stamps_of_task(theirs).keys()
    ):
        found = _later_change(
            _field_of_side(base, base, name), _field_of_side(base, mine, name), _field_of_side(base, theirs, name)
        )
        if found.at:
            marks[name] = found.at
        if name == STATUS[0]:
            out |= found.value or {}
        elif found.value is not None:
            out[name] = found.value
    return {**out, **({KEY: marks} if marks else {})}


def _field_of_side(base: Value, side: Value, name: str) -> _Field:
    """Return a field of a side. A change by a program that writes no stamps counts as that side's last change."""
    value, was = mergeable_fields(side).get(name), mergeable_fields(base).get(name)
    at, before = stamps_of_task(side).get(name, 0), stamps_of_task(base).get(name, 0)
    return _Field(value, rev_of_task(side) if at == before and not is_same_value(value, was) else at)


def _later_change(base: _Field, mine: _Field, theirs: _Field) -> _Field:
    changed = [one for one in (mine, theirs) if one.at != base.at or not is_same_value(one.value, base.value)]
    return max(changed, key=lambda one: (one.at, canonical_json(one.value)), default=base)


def _merge_special_field(key: str, base: Any, mine: Any, theirs: Any, now: datetime) -> Any:
    if key == "claim":
        return first_claim(base, mine, theirs, now)
    if key in SETS and isinstance(mine, list | None) and isinstance(theirs, list | None):
        return merge_sets(base, mine, theirs)
    if key == "uids":
        return _each(*(one if isinstance(one, dict) else {} for one in (base, mine, theirs)))
    if key in _LATEST:
        return max((one for one in (mine, theirs) if one is not None), key=_size_key, default=None)
    if is_same_value(mine, theirs) or is_same_value(theirs, base):
        return mine
    return theirs if is_same_value(mine, base) else max((mine, theirs), key=canonical_json)


def _size_key(value: Any) -> tuple[bool, Any]:
    return (isinstance(value, str), value)


def merge_sets(base: Any, mine: list[Any] | None, theirs: list[Any] | None) -> list[Any] | None:
    """Return the common items that neither side removed, then the additions of both, in a deterministic order."""
    if is_same_value(mine, theirs) or is_same_value(theirs, base):
        return mine
    if is_same_value(mine, base):
        return theirs
    old: list[Any] = base if isinstance(base, list) else []
    had, ours, others = ({canonical_json(one): one for one in side} for side in (old, mine or [], theirs or []))
    kept = [one for name, one in had.items() if name in ours and name in others]
    more = {name: one for name, one in (ours | others).items() if name not in had}
    return [*kept, *(more[name] for name in sorted(more))]


def _each(base: Value, mine: Value, theirs: Value) -> dict[str, Any] | None:
    """Return an object merged key by key, without the keys that a side removed."""
    found = {}
    for key in sorted({**mine, **theirs}):
        was, ours, others = base.get(key), mine.get(key), theirs.get(key)
        both = max(ours, others, key=canonical_json) if ours is not None and others is not None else ours or others
        value = others if is_same_value(ours, was) else ours if is_same_value(others, was) else both
        if value is not None:
            found[key] = value
    return found or None


def first_claim(base: Any, mine: Any, theirs: Any, now: datetime) -> Any:
    """Return the claim that counts: the one that was published first, until it expires."""
    if theirs in (mine, base):
        return mine
    if mine == base:
        return theirs
    ours, others = _parse_claim(mine), _parse_claim(theirs)
    if ours is None or others is None:
        return mine if others is None else theirs
    if ours.token == others.token:
        return mine if ours.until > others.until else theirs
    return theirs if others.holds(now) or not ours.holds(now) else mine


def _parse_claim(value: Any) -> TaskClaim | None:
    try:
        return TaskClaim.from_value(value, "claim")
    except Invalid:
        return None
