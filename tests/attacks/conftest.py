"""A project of Ada's, and a clone of Mallory's, who may push and is no approver."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.machines import Machine
from tests.conftest import run_git

STATE = "refs/nexus/state"


@pytest.fixture
def hub(tmp_path: Path, repository: Path) -> Path:
    run_git(tmp_path, "clone", "-q", "--bare", str(repository), "hub.git")
    return tmp_path / "hub.git"


@pytest.fixture
def ada(hub: Path) -> Machine:
    found = Machine(hub, "ada")
    found.sync()
    return found


@pytest.fixture
def mallory(hub: Path, ada: Machine) -> Machine:
    return Machine(hub, "mallory")


@pytest.fixture
def server(project: Path) -> Path:
    place = project.parent / "server.git"
    run_git(project.parent, "init", "-q", "--bare", str(place))
    run_git(project, "remote", "add", "origin", str(place))
    run_git(project, "push", "-q", "origin", "main", STATE)
    return place


@pytest.fixture
def clone(tmp_path: Path, server: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A clone with the state of the server, on a machine that never saw the project."""

    def make(name: str = "clone") -> Path:
        place = tmp_path / name
        run_git(tmp_path, "clone", "-q", str(server), str(place))
        run_git(place, "fetch", "-q", "origin", f"{STATE}:{STATE}")
        monkeypatch.setenv("NEXUS_HOME", str(tmp_path / f"home of {name}"))
        return place

    return make
