"""`Run`: the record of one run on the state ref."""

from typing import Literal

from gitnexus.base.record import StoredRecord

Status = Literal["running", "waiting", "blocked", "completed", "failed", "cancelled", "landed"]
ENDED = frozenset({"completed", "failed", "cancelled", "landed"})
# Statuses of an action that is not settled.
OPEN = ("proposed", "waiting", "approved", "unknown")


class Run(StoredRecord):
    """The record. `base` is the start commit, `onto` the branch checked out then, `head` the run's last commit.

    `session` is the id of a program's own session that only uses the gate: such a run has no branch and no worktree.
    """

    id: str
    title: str
    agent: str
    base: str
    definition: str
    created: str
    status: Status = "running"
    onto: str = ""
    head: str = ""
    ended: str = ""
    landed: str = ""
    task: str = ""
    session: str = ""

    @property
    def branch(self) -> str:
        """The short name of the run's branch."""
        return f"nexus/{self.id}"
