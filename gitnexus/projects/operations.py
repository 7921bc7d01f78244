"""Table of the operations that one project can do on another, and the permission level of each."""

from enum import Enum

from gitnexus.base.typed import COMMAND
from gitnexus.projects.levels import Level


class Operation(Enum):
    """The operations on another project, named like their command."""

    SHOW = "show"
    QUERY = "query"
    DISCOVER = "discover"
    DEPS = "deps"
    DEPENDENTS = "dependents"
    SEARCH = "search"
    GRAPH = "graph"
    PROJECT_SHOW = "project show"
    UPDATE = "task update"
    CLAIM = "task claim"
    ADD_DEPENDS = "task add --depends"
    RELATE = "task relate"
    COMPLETE = "task complete"
    CANCEL = "task cancel"
    DELETE = "task delete"
    RUN = "run --task"

    @property
    def needs(self) -> Level:
        """The level that the current project needs on the other one."""
        return NEEDS[self]

    @property
    def command(self) -> str:
        """The command that denials and the audit name: the one that the user typed, with the option if that matters.

        For tools of agents and long-running servers, where nobody typed it, it is the command of the operation.
        """
        typed = COMMAND.get()
        serves = typed in ("", "mcp", "tool", "chat", "web", "worker") or typed.startswith("hook")
        return f"git nexus {self.value if serves or self.value.startswith(typed) else typed}"


NEEDS: dict[Operation, Level] = {
    Operation.SHOW: Level.READ,
    Operation.QUERY: Level.READ,
    Operation.DISCOVER: Level.READ,
    Operation.DEPS: Level.READ,
    Operation.DEPENDENTS: Level.READ,
    Operation.SEARCH: Level.READ,
    Operation.GRAPH: Level.READ,
    Operation.PROJECT_SHOW: Level.READ,
    Operation.UPDATE: Level.WRITE,
    Operation.CLAIM: Level.WRITE,
    Operation.ADD_DEPENDS: Level.WRITE,
    Operation.RELATE: Level.WRITE,
    Operation.COMPLETE: Level.EXECUTE,
    Operation.CANCEL: Level.EXECUTE,
    Operation.DELETE: Level.EXECUTE,
    Operation.RUN: Level.EXECUTE,
}
