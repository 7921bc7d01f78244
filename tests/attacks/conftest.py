"""A project of Ada's, and a clone of Mallory's, who may push and is no approver."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.attacks.machines import Machine
from tests.conftest import Templates, run_git
from tests.prepared import PreparedFolder

STATE = "refs/nexus/state"


@pytest.fixture(scope="session")
def same_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the machines of every test are."""
    return tmp_path_factory.mktemp("machines") / "place"


@pytest.fixture
def machines(tmp_path: Path, same_place: Path, templates: Templates) -> Iterator[PreparedFolder]:
    """The folder of the server and of all machines, for steps that are done once and copied."""
    yield PreparedFolder(same_place, templates)
    same_place.rename(tmp_path / "machines")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Function) -> None:
    """Have all machines there when a test begins."""
    machines = item.funcargs.get("machines")
    if isinstance(machines, PreparedFolder):
        machines.settle()
        machines.late = False


@pytest.fixture
def hub(machines: PreparedFolder, repository: Path) -> Path:
    place = machines.place / "hub.git"

    def clone() -> str:
        run_git(place.parent, "clone", "-q", "--bare", str(repository), place.name)
        return ""

    machines.step("hub", clone)
    return place


@pytest.fixture
def ada(hub: Path, machines: PreparedFolder) -> Machine:
    machine = Machine(hub, "ada", machines)
    machine.step("sync", lambda: str(machine.sync()))
    return machine


@pytest.fixture
def mallory(hub: Path, ada: Machine, machines: PreparedFolder) -> Machine:
    return Machine(hub, "mallory", machines)


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
