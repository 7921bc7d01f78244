"""Table of the tools of all rooms, and `ToolSession`, the context that each of them receives."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from gitnexus.app.close_cycle import forget_notes_after_close
from gitnexus.app.notes import open_notes
from gitnexus.backlog import Backlog, StateBacklog
from gitnexus.backlog.table import TOOLS as BACKLOG
from gitnexus.base.errors import NotFound
from gitnexus.base.tool import Tool, check_parameters, check_result
from gitnexus.cycle import Session
from gitnexus.cycle.table import TOOLS as CYCLE
from gitnexus.memory import Notes
from gitnexus.memory.table import TOOLS as MEMORY
from gitnexus.projects import backlog_tools
from gitnexus.projects.graph_tools import TOOLS as GRAPH
from gitnexus.projects.open_backlog import ProjectNames, claimant_of
from gitnexus.projects.open_project import settle_or_postpone
from gitnexus.projects.open_registry import open_standpoint
from gitnexus.projects.standpoint import Standpoint
from gitnexus.projects.table import TOOLS as PROJECTS
from gitnexus.state.secrets import as_stored


class ToolSession:
    """The rooms of one worktree, each opened when a tool first needs it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._standpoint: Standpoint | None = None

    @property
    def standpoint(self) -> Standpoint:
        """The current project among all others; looked up again while there is none, as a tool may create it."""
        if self._standpoint is None or self._standpoint.here is None:
            self._standpoint = open_standpoint(self.session.repo.folder)
        return self._standpoint

    @property
    def graph(self) -> Standpoint:
        """The same for task queries, with hand edits imported."""
        settle_or_postpone(self.session.state)
        return self.standpoint

    @cached_property
    def notes(self) -> Notes:
        """The project's notes, with this session's harness as the reader."""
        return open_notes(self.session.state, self.session)

    @property
    def backlog(self) -> Backlog:
        """The backlog, with hand edits imported."""
        state = self.session.state
        settle_or_postpone(state)
        return StateBacklog(state, claimant_of(state), ProjectNames(self.session.repo), self.session.clock)


# A room's tools, and the part of the session that they work with.
_TOOL_TABLES: tuple[tuple[Mapping[str, Tool[Any]], Callable[[ToolSession], Any]], ...] = (
    (CYCLE, lambda session: session.session),
    (MEMORY, lambda session: session.notes),
    (PROJECTS, lambda session: session.standpoint),
    (GRAPH, lambda session: session.graph),
    (BACKLOG, lambda session: session.backlog),
)

TOOLS: dict[str, Tool[Any]] = {name: tool for table, _ in _TOOL_TABLES for name, tool in table.items()}


def call_session_tool(session: ToolSession, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool for an agent; return its redacted result. Raises: NotFound, Invalid, Busy."""
    answer = _ran(session, name, params)
    tool = TOOLS[name.removeprefix("nx_")]
    return check_result(tool, answer if tool.reads_only else as_stored(answer))


def _ran(session: ToolSession, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    plain = name.removeprefix("nx_")
    for tools, place in _TOOL_TABLES:
        if plain in tools:
            given = check_parameters(tools[plain], params)
            if tools is BACKLOG:
                return backlog_tools.run_backlog_tool(tools[plain], session.backlog, session.session.repo, given)
            answer = tools[plain].run(place(session), given)
            return forget_notes_after_close(session.session, answer) if plain == "task_close" else answer
    raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join(TOOLS)}")
