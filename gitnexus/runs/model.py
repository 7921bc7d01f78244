"""A run as everybody sees it: one small record on the state ref."""

from typing import Literal

from gitnexus.base.record import StoredRecord

Status = Literal["running", "waiting", "blocked", "completed", "failed", "cancelled", "landed"]
ENDED = frozenset({"completed", "failed", "cancelled", "landed"})


class Run(StoredRecord):
    """`base` is the commit it began at, `onto` the branch that was checked out then, `head` its own last commit.

    `session` is the id of a program's own session, for one that only asks us: such a run has no branch and no worktree.
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
        """The branch, as people write it."""
        return f"nexus/{self.id}"
