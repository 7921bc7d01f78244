"""The session of a worktree, opened for a command."""

from pathlib import Path

from gitnexus.app.keepers import open_state
from gitnexus.app.open import described
from gitnexus.cycle import Session
from gitnexus.git import discover


class OpenSession(Session):
    """A session that knows which project it belongs to."""

    def described(self) -> dict[str, str]:
        """Return the project for an envelope."""
        return described(self.repo)


def open_session(place: Path, harness: str | None) -> OpenSession:
    """Open the session of the worktree at `place`, initialised or not. Raises: NotFound, Failed."""
    state = open_state(discover(place, inherit=True))
    return OpenSession(state, harness=harness or "git-nexus")
