"""Every room's tools on one shelf, and the desk that each of them works at."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from gitnexus.app import backlogtools
from gitnexus.app.backlog import Names, claimant_of
from gitnexus.app.closing import after_close
from gitnexus.app.graphtools import TOOLS as GRAPH
from gitnexus.app.notes import notes_of
from gitnexus.app.open import settled
from gitnexus.app.standpoint import open_standpoint
from gitnexus.backlog import Backlog, StateBacklog
from gitnexus.backlog.table import TOOLS as BACKLOG
from gitnexus.base.errors import NotFound
from gitnexus.base.tool import Tool, checked
from gitnexus.cycle import Session
from gitnexus.cycle.table import TOOLS as CYCLE
from gitnexus.memory import Notes
from gitnexus.memory.table import TOOLS as MEMORY
from gitnexus.projects.standpoint import Life, Standpoint
from gitnexus.projects.table import TOOLS as PROJECTS


class Desk:
    """The rooms of one worktree, each opened when a tool first needs it."""

    def __init__(self, session: Session, life: Life = "short") -> None:
        self.session = session
        self._life = life
        self._standpoint: Standpoint | None = None

    @property
    def standpoint(self) -> Standpoint:
        """The current project among all others; asked again while there is none, for a tool may make it one."""
        if self._standpoint is None or self._standpoint.here is None:
            self._standpoint = open_standpoint(self.session.repo.place, life=self._life)
        return self._standpoint

    @property
    def graph(self) -> Standpoint:
        """The same for who looks at tasks, with what was edited by hand taken in."""
        settled(self.session.state)
        return self.standpoint

    @cached_property
    def notes(self) -> Notes:
        """What the project has learned, read by this session's harness."""
        return notes_of(self.session.state, self.session)

    @property
    def backlog(self) -> Backlog:
        """The backlog, with what was edited by hand taken in."""
        state = self.session.state
        settled(state)
        return StateBacklog(state, claimant_of(state), Names(self.session.repo), self.session.clock)


# A room's tools, and what of the desk they work with.
_SHELVES: tuple[tuple[Mapping[str, Tool[Any]], Callable[[Desk], Any]], ...] = (
    (CYCLE, lambda desk: desk.session),
    (MEMORY, lambda desk: desk.notes),
    (PROJECTS, lambda desk: desk.standpoint),
    (GRAPH, lambda desk: desk.graph),
    (BACKLOG, lambda desk: desk.backlog),
)

TOOLS: dict[str, Tool[Any]] = {name: tool for shelf, _ in _SHELVES for name, tool in shelf.items()}


def call(desk: Desk, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool as an agent calls it. Raises: NotFound, Invalid, Busy."""
    plain = name.removeprefix("nx_")
    for shelf, place in _SHELVES:
        if plain in shelf:
            given = checked(shelf[plain], params)
            if shelf is BACKLOG:
                return backlogtools.ran(shelf[plain], desk.backlog, desk.session.repo, given)
            answer = shelf[plain].run(place(desk), given)
            return after_close(desk.session, answer) if plain == "task_close" else answer
    raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join(TOOLS)}")
