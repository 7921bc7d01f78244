"""A project of Ada's, and a clone of Mallory's, who may push and is no approver."""

from pathlib import Path

import pytest

from tests.attacks.machines import Machine
from tests.conftest import run_git


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
