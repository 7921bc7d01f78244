"""Records when each field of a task last changed, counted by the task's `rev`: a Lamport counter, no wall clock.

A writer sets `rev` to one more than the highest that it read, and changed fields get that number. Where two clones
changed the same field, the higher number wins. A field without a stamp is as old as the task.
"""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.canonical import canonical_json

KEY = "stamps"
# What means something only together: a status, and when and why it came about.
STATUS = ("status", "completedAt", "cancelledAt", "cancellationReason")
SETS = ("labels", "files", "acceptance", "notes", "depends", "relates", "aliases")
# Sets and claims are merged by what is in them, the rest by other rules of its own.
_WITHOUT = (*SETS, "claim", "id", "uid", "uids", "rev", "updatedAt", KEY)
Value = Mapping[str, Any]


def with_stamps(before: Value, after: Value) -> dict[str, Any]:
    """Return a task as it is written over the stored one: with the next `rev`, the stamp of each changed field."""
    rev = max(rev_of_task(before) + 1, rev_of_task(after))
    changed = {
        name
        for name, value in mergeable_fields(after).items()
        if not is_same_value(value, mergeable_fields(before).get(name))
    }
    changed |= mergeable_fields(before).keys() - mergeable_fields(after).keys()
    marks = {**stamps_of_task(before), **dict.fromkeys(changed, rev)}
    return {**after, "rev": rev, **({KEY: marks} if marks else {})}


def mergeable_fields(value: Value) -> dict[str, Any]:
    """Return the values that are merged as one: each plain field, and the status together with its times."""
    found = {key: item for key, item in value.items() if key not in _WITHOUT and key not in STATUS and item is not None}
    return {**found, "status": {key: value[key] for key in STATUS if value.get(key) is not None}}


def rev_of_task(value: Value) -> int:
    """Return the number of known changes of a task."""
    return _count_or_zero(value.get("rev"))


def stamps_of_task(value: Value) -> dict[str, int]:
    """Return the stamps by field."""
    found = value.get(KEY)
    return {key: _count_or_zero(item) for key, item in found.items()} if isinstance(found, dict) else {}


def is_same_value(one: Any, other: Any) -> bool:
    """Return True if two JSON values are identical; 1, 1.0 and true are not."""
    return bool(one == other) and canonical_json(one) == canonical_json(other)


def _count_or_zero(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
