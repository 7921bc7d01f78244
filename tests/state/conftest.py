"""What is tested here is the state itself, as commands open it: through git's own programs unless a test says else."""

import pytest

from gitnexus.git.object_access import open_objects


@pytest.fixture(autouse=True)
def as_commands_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back what the other folders are given, whichever of them this worker began with."""
    for user in ("state.store", "state.home", "projects.place"):
        monkeypatch.setattr(f"gitnexus.{user}.open_objects", open_objects)
