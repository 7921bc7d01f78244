"""One task as two clones changed it: field by field, the later change by Lamport's count where both changed the same.

Made so that it does not matter who meets whom first: each field is the greatest of all that changed it, a set has what
anybody added and lacks what anybody took away. Only a claim looks at which side was published first.
"""

from datetime import datetime
from typing import Any, NamedTuple

from gitnexus.backlog.lease import Claim
from gitnexus.backlog.stamps import KEY, SETS, STATUS, Value, fields, marks_of, rev_of, same
from gitnexus.base.canonical import canonical
from gitnexus.base.errors import Invalid

_LATEST = ("rev", "updatedAt")


class _Field(NamedTuple):
    """A value, and the count at which it became that."""

    value: Any
    at: int


def merged_fields(base: Value, mine: Value, theirs: Value, now: datetime) -> dict[str, Any]:
    """Return both sides' changes in one record. No clock decides, but whether a claim still holds."""
    out: dict[str, Any] = {}
    for key in ("id", "uid", "claim", *_LATEST, *SETS):
        value = _own_rule(key, base.get(key), mine.get(key), theirs.get(key), now)
        if value is not None:
            out[key] = value
    marks: dict[str, int] = {}
    for name in sorted(fields(mine).keys() | fields(theirs).keys() | marks_of(mine).keys() | marks_of(theirs).keys()):
        found = _later(_field(base, base, name), _field(base, mine, name), _field(base, theirs, name))
        if found.at:
            marks[name] = found.at
        if name == STATUS[0]:
            out |= found.value or {}
        elif found.value is not None:
            out[name] = found.value
    return {**out, **({KEY: marks} if marks else {})}


def _field(base: Value, side: Value, name: str) -> _Field:
    """Return a field of a side. One that was changed by who knows no stamps counts as changed last of all there."""
    value, was = fields(side).get(name), fields(base).get(name)
    at, before = marks_of(side).get(name, 0), marks_of(base).get(name, 0)
    return _Field(value, rev_of(side) if at == before and not same(value, was) else at)


def _later(base: _Field, mine: _Field, theirs: _Field) -> _Field:
    changed = [one for one in (mine, theirs) if one.at != base.at or not same(one.value, base.value)]
    return max(changed, key=lambda one: (one.at, canonical(one.value)), default=base)


def _own_rule(key: str, base: Any, mine: Any, theirs: Any, now: datetime) -> Any:
    if key == "claim":
        return first_claim(base, mine, theirs, now)
    if key in SETS and isinstance(mine, list | None) and isinstance(theirs, list | None):
        return _union(base, mine, theirs)
    if key in _LATEST:
        return max((one for one in (mine, theirs) if one is not None), key=_by_size, default=None)
    if same(mine, theirs) or same(theirs, base):
        return mine
    return theirs if same(mine, base) else max((mine, theirs), key=canonical)


def _by_size(value: Any) -> tuple[bool, Any]:
    return (isinstance(value, str), value)


def _union(base: Any, mine: list[Any] | None, theirs: list[Any] | None) -> list[Any] | None:
    """Return what both had and neither took away, then what either added, in an order that is the same everywhere."""
    if same(mine, theirs) or same(theirs, base):
        return mine
    if same(mine, base):
        return theirs
    old: list[Any] = base if isinstance(base, list) else []
    had, ours, others = ({canonical(one): one for one in side} for side in (old, mine or [], theirs or []))
    kept = [one for name, one in had.items() if name in ours and name in others]
    more = {name: one for name, one in (ours | others).items() if name not in had}
    return [*kept, *(more[name] for name in sorted(more))]


def first_claim(base: Any, mine: Any, theirs: Any, now: datetime) -> Any:
    """Return whose claim counts: the one that was published first, as long as it holds."""
    if theirs in (mine, base):
        return mine
    if mine == base:
        return theirs
    ours, others = _claim(mine), _claim(theirs)
    if ours is None or others is None:
        return mine if others is None else theirs
    if ours.token == others.token:
        return mine if ours.until > others.until else theirs
    return theirs if others.holds(now) or not ours.holds(now) else mine


def _claim(value: Any) -> Claim | None:
    try:
        return Claim.from_value(value, "claim")
    except Invalid:
        return None
