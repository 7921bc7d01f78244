"""The backlog: durable tasks `T12`, a record each on the state ref, in the form of CLEO's schema.

Decisions are pure functions on `Tasks`; a `Backlog` publishes them in one transaction. `reference` says how a task is
named, `graph` who waits for whom, `elsewhere` what this room asks about other projects.
"""

from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog, StateBacklog
from gitnexus.backlog.tasks import Tasks

__all__ = ["Backlog", "BacklogTask", "StateBacklog", "Tasks"]
