"""Chooses what carries out a workflow node: rules without a model, a typed model call, or an agent's program."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gitnexus.base.errors import Failed
from gitnexus.git.private import PrivateGit
from gitnexus.packs import Library
from gitnexus.runs.agent.run import Show
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.packs import opened_library_at
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.run_definition import EMBEDDED, MODEL
from gitnexus.workflow.specialist import HistoryCommit, Specialist

_MOST = 1000


def specialist_for_node(run: OpenRun, node: WorkflowNode, tip: str, show: Show) -> Specialist:
    """Return the specialist of a node that is not a program in the worktree. Raises: NexusError.

    A model looks at the commit `tip`, and `show` gets what it writes.
    """
    if node.adapter in ("", EMBEDDED):
        from gitnexus.workflow.embedded import EmbeddedSpecialist  # imports Markdown: only needed to work

        return EmbeddedSpecialist()
    if node.adapter == MODEL:
        from gitnexus.prompts.in_project import open_prompter
        from gitnexus.runs.workflow.model_session import make_model_session
        from gitnexus.workflow.model_specialist import ModelSpecialist

        return ModelSpecialist(open_prompter(run.state), lambda order: make_model_session(run, order, tip, show))
    raise Failed(f"{node.adapter} is not a specialist without a worktree")


@dataclass(frozen=True, slots=True)
class LiveView:
    """The readable content of the project at one commit, for a specialist."""

    library: Library
    git: PrivateGit
    commit: str

    def log(self, most: int) -> Sequence[HistoryCommit]:
        """Return the last commits, newest first."""
        return self._read_commits(most)

    def touched(self, path: str, most: int) -> Sequence[HistoryCommit]:
        """Return the last commits that changed a readable path, newest first."""
        return self._read_commits(most, path) if self.library.base.why_not(path) is None else ()

    def _read_commits(self, most: int, path: str = "") -> Sequence[HistoryCommit]:
        below = ("--", f":(literal){path}") if path else ("--",)
        count = f"--max-count={min(max(most, 0), _MOST)}"
        raw = self.git.must("log", count, "--format=%H%x00%ct%x00%s%x01", self.commit, *below)
        rows = (row.strip("\n").split("\0") for row in raw.decode("utf-8", "replace").split("\x01"))
        return tuple(HistoryCommit(row[0], int(row[1]), row[2]) for row in rows if len(row) == 3)


@contextmanager
def opened_view_at(run: OpenRun, commit: str) -> Iterator[LiveView]:
    """Open the project at a commit for one call. Raises: NexusError."""
    with opened_library_at(run.state, commit) as (library, git):
        yield LiveView(library, git, library.base.commit)
