"""One task as two clones changed it: field by field, the higher `rev` where both changed the same one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gitnexus.backlog.lease import Claim
from gitnexus.base.canonical import canonical
from gitnexus.base.errors import Invalid

# What means something only together: a status, and when and why it came about.
_STATUS = ("status", "completedAt", "cancelledAt", "cancellationReason")
_SETS = ("labels", "files", "acceptance", "notes", "depends", "relates", "aliases")
_LATEST = ("rev", "updatedAt")
Value = Mapping[str, Any]


def merged_fields(base: Value, mine: Value, theirs: Value, now: datetime) -> dict[str, Any]:
    """Return both sides' changes in one record. `rev` counts changes (Lamport): no clock decides, but for a claim."""
    ahead = _wins(mine, theirs)
    out: dict[str, Any] = {}
    for key in dict.fromkeys([*theirs, *mine]):
        if key in _STATUS:
            continue
        value = _field(key, base.get(key), mine.get(key), theirs.get(key), ahead, now)
        if value is not None:
            out[key] = value
    status = _one(_status(base), _status(mine), _status(theirs), ahead)
    return {**out, **{key: value for key, value in status.items() if value is not None}}


def _field(key: str, base: Any, mine: Any, theirs: Any, ahead: bool, now: datetime) -> Any:
    if key == "claim":
        return first_claim(base, mine, theirs, now)
    if key in _LATEST:
        return max((one for one in (mine, theirs) if one is not None), key=lambda one: (isinstance(one, str), one))
    if key in _SETS and isinstance(mine, list | None) and isinstance(theirs, list | None):
        kept = _union(base if isinstance(base, list) else [], mine or [], theirs or [])
        return kept or (theirs if theirs == kept else mine if mine == kept else None)
    return _one(base, mine, theirs, ahead)


def _one(base: Any, mine: Any, theirs: Any, ahead: bool) -> Any:
    if _same(mine, theirs) or _same(theirs, base):
        return mine
    return theirs if _same(mine, base) or not ahead else mine


def _wins(mine: Value, theirs: Value) -> bool:
    """True if our side goes before theirs where both changed the same: more changes, then by the bytes, so that
    everybody decides alike."""
    return (_rev(mine), canonical(mine)) > (_rev(theirs), canonical(theirs))


def _rev(value: Value) -> int:
    found = value.get("rev")
    return found if type(found) is int else 0


def _union(base: list[Any], mine: list[Any], theirs: list[Any]) -> list[Any]:
    """Return theirs and what ours has more, without what either took away."""
    had, ours, others = ({canonical(one) for one in side} for side in (base, mine, theirs))
    gone = (had - ours) | (had - others)
    out: dict[bytes, Any] = {}
    for one in [*theirs, *mine]:
        name = canonical(one)
        if name not in gone:
            out.setdefault(name, one)
    return list(out.values())


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


def _status(value: Value) -> dict[str, Any]:
    return {key: value.get(key) for key in _STATUS}


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and canonical(one) == canonical(other)
