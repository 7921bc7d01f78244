"""The result of a decision about the backlog, and the one function that revises a task record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gitnexus.backlog.model import BacklogTask
from gitnexus.base.clock import format_timestamp

if TYPE_CHECKING:
    from gitnexus.backlog.tombstone import Tombstone

T = TypeVar("T")


class BacklogDecision(NamedTuple, Generic[T]):
    """The records to write, the reason for the commit, and the caller's result. Without records nothing is written."""

    records: "Sequence[BacklogTask | Tombstone]"
    why: str
    value: T
    # Files of the room that are no records, by their path below it.
    beside: Mapping[str, bytes] = MappingProxyType({})


def revised_task(task: BacklogTask, now: datetime, **fields: Any) -> BacklogTask:
    """Return a task with fields replaced and the next `rev`; the task itself if nothing differs."""
    after = task.changed(**fields)
    return task if after == task else after.changed(rev=task.rev + 1, updated_at=format_timestamp(now))
