"""Who does the work of a node in a project: rules that need no model, a typed model call, or an agent's program."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gitnexus.app.packs import library_at
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import Failed
from gitnexus.git.private import PrivateGit
from gitnexus.packs import Library
from gitnexus.workflow.definition import EMBEDDED, MODEL, WorkflowNode
from gitnexus.workflow.specialist import Commit, Specialist

_MOST = 1000


def specialist_of(desk: RunDesk, node: WorkflowNode) -> Specialist:
    """Return who backs a node that is no program in the worktree. Raises: NexusError."""
    if node.adapter in ("", EMBEDDED):
        from gitnexus.workflow.embedded import Embedded  # reads Markdown: only who works pays

        return Embedded()
    if node.adapter == MODEL:
        from gitnexus.app.prompts import prompter_of
        from gitnexus.workflow.typed import Typed

        return Typed(prompter_of(desk.state))
    raise Failed(f"{node.adapter} is no specialist without a worktree")


@dataclass(frozen=True, slots=True)
class LiveView:
    """The project at one commit, as a specialist may see it."""

    library: Library
    git: PrivateGit
    commit: str

    def log(self, most: int) -> Sequence[Commit]:
        """Return the last commits, the newest first."""
        return self._commits(most)

    def touched(self, path: str, most: int) -> Sequence[Commit]:
        """Return the last commits that changed a path that may be read, the newest first."""
        return self._commits(most, path) if self.library.base.why_not(path) is None else ()

    def _commits(self, most: int, path: str = "") -> Sequence[Commit]:
        below = ("--", f":(literal){path}") if path else ("--",)
        count = f"--max-count={min(max(most, 0), _MOST)}"
        raw = self.git.must("log", count, "--format=%H%x00%ct%x00%s%x01", self.commit, *below)
        rows = (row.strip("\n").split("\0") for row in raw.decode("utf-8", "replace").split("\x01"))
        return tuple(Commit(row[0], int(row[1]), row[2]) for row in rows if len(row) == 3)


@contextmanager
def view_at(desk: RunDesk, commit: str) -> Iterator[LiveView]:
    """Open the project at a commit for one call. Raises: NexusError."""
    with library_at(desk.state, commit) as (library, git):
        yield LiveView(library, git, library.base.commit)
