"""Opens the session of a worktree for a command."""

from pathlib import Path

from gitnexus.cycle import Session
from gitnexus.git import discover
from gitnexus.projects.open_project import describe_project
from gitnexus.projects.open_state import open_state


class OpenSession(Session):
    """A session together with its project."""

    def described(self) -> dict[str, str]:
        """Return the project's fields for the JSON envelope."""
        return describe_project(self.repo)


def open_session(place: Path, harness: str | None) -> OpenSession:
    """Open the session of the worktree at `place`, initialised or not. Raises: NotFound, Failed."""
    state = open_state(discover(place, inherit=True))
    return OpenSession(state, harness=harness or "git-nexus")
