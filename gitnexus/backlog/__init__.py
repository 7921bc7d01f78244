"""The backlog: durable tasks `T12`, one record each on the state ref, in the form of CLEO's schema.

Decisions are pure functions on `Tasks`; a `Backlog` writes them in one transaction. `reference` parses task names,
`graph` computes dependencies, `elsewhere` is the interface to tasks of other projects.
"""

from gitnexus.backlog.model import BacklogTask
from gitnexus.backlog.store import Backlog, StateBacklog
from gitnexus.backlog.tasks import Tasks

__all__ = ["Backlog", "BacklogTask", "StateBacklog", "Tasks"]
