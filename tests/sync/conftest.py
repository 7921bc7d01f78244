"""Two clones of a project and the hub between them."""

from pathlib import Path

import pytest

from gitnexus.app.init import initialise
from tests.conftest import run_git
from tests.sync.two import Clone


@pytest.fixture
def hub(tmp_path: Path, repository: Path) -> Path:
    run_git(tmp_path, "clone", "-q", "--bare", str(repository), "hub.git")
    return tmp_path / "hub.git"


def cloned(hub: Path, name: str) -> Clone:
    run_git(hub.parent, "clone", "-q", str(hub), name)
    initialise(hub.parent / name, name=None, aliases=(), with_hooks=False, local=False).nexus.close()
    return Clone(hub.parent / name)


@pytest.fixture
def ada(hub: Path) -> Clone:
    found = cloned(hub, "ada")
    found.sync()
    return found


@pytest.fixture
def bob(hub: Path, ada: Clone) -> Clone:
    return cloned(hub, "bob")
