"""When each field of a task last changed, counted by the task's own `rev`: a Lamport counter, no clock of the wall.

Whoever writes a task has read it, so `rev` goes one beyond all that the writer knew, and what differs gets that
number. Where two clones changed the same field, the higher number has it. A field without one is as old as the task.
"""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.canonical import canonical

KEY = "stamps"
# What means something only together: a status, and when and why it came about.
STATUS = ("status", "completedAt", "cancelledAt", "cancellationReason")
SETS = ("labels", "files", "acceptance", "notes", "depends", "relates", "aliases")
# Sets and claims are merged by what is in them, the rest by other rules of its own.
_WITHOUT = (*SETS, "claim", "id", "uid", "rev", "updatedAt", KEY)
Value = Mapping[str, Any]


def stamped(before: Value, after: Value) -> dict[str, Any]:
    """Return a task as it is written over what was there: one further, each field that differs with that number."""
    rev = max(rev_of(before) + 1, rev_of(after))
    changed = {name for name, value in fields(after).items() if not same(value, fields(before).get(name))}
    changed |= fields(before).keys() - fields(after).keys()
    marks = {**marks_of(before), **dict.fromkeys(changed, rev)}
    return {**after, "rev": rev, **({KEY: marks} if marks else {})}


def fields(value: Value) -> dict[str, Any]:
    """Return what changes as one: each plain field, and the status with what belongs to it."""
    found = {key: item for key, item in value.items() if key not in _WITHOUT and key not in STATUS and item is not None}
    return {**found, "status": {key: value[key] for key in STATUS if value.get(key) is not None}}


def rev_of(value: Value) -> int:
    """Return how often a task was changed, by anybody that it knows of."""
    return _count(value.get("rev"))


def marks_of(value: Value) -> dict[str, int]:
    """Return the number of each field that has one."""
    found = value.get(KEY)
    return {key: _count(item) for key, item in found.items()} if isinstance(found, dict) else {}


def same(one: Any, other: Any) -> bool:
    """True if two JSON values are the same: 1, 1.0 and true are not."""
    return bool(one == other) and canonical(one) == canonical(other)


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
