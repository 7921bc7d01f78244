"""The peers as fixtures; whatever could not be had is named at the end of the run."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.slow import peers
from tests.slow.calls import copy_of_the_working_tree, must
from tests.slow.peers import OUTSIDE, CannotBeHad, Unpacked
from tests.slow.sshd import Sshd
from tests.sync.conftest import ada, bob, hub  # noqa: F401

T = TypeVar("T")
_MISSING = "cannot be had here: "


def _had(name: str, get: Callable[[], T]) -> T:
    try:
        return get()
    except CannotBeHad as exc:
        pytest.skip(f"{_MISSING}{name}: {exc}")


def _path(name: str) -> Path:
    peer = _had(name, peers.PEERS[name])
    assert isinstance(peer, Path)
    return peer


def _unpacked(name: str) -> Unpacked:
    peer = _had(name, peers.PEERS[name])
    assert isinstance(peer, Unpacked)
    return peer


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    told = {str(report.longrepr[2]) for report in terminalreporter.getreports("skipped") if report.longrepr}
    missing = sorted(words.partition(_MISSING)[2] for words in told if _MISSING in words)
    if missing:
        terminalreporter.section("peers that could not be had", red=True)
        for words in missing:
            terminalreporter.line(words)


@pytest.fixture(scope="session")
def new_git() -> Path:
    """A folder with a git that knows config hooks."""
    return _path("git 2.54")


@pytest.fixture
def with_new_git(new_git: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything in this test is done with that git."""
    monkeypatch.setenv("PATH", f"{new_git}:{os.environ['PATH']}")
    return new_git


@pytest.fixture
def with_old_git() -> None:
    """The machine's own git is one that takes hooks from files alone."""
    if peers.git_version("git") >= peers.CONFIG_HOOKS:
        pytest.skip(f"{_MISSING}git before 2.54: the machine's own is newer, put an older one first on PATH")


@pytest.fixture(scope="session")
def husky() -> Path:
    """husky's program."""
    return _path("husky") / "husky" / "bin.js"


@pytest.fixture(scope="session")
def lefthook() -> Path:
    """lefthook's program."""
    return _path("lefthook") / ".bin" / "lefthook"


@pytest.fixture(scope="session")
def pre_commit() -> Path:
    """The program of the pre-commit framework."""
    return _path("pre-commit") / "pre-commit"


@pytest.fixture(scope="session")
def zsh() -> Unpacked:
    return _unpacked("zsh")


@pytest.fixture(scope="session")
def fish() -> Unpacked:
    return _unpacked("fish")


@pytest.fixture(scope="session")
def busybox() -> Path:
    return _unpacked("busybox").program


@pytest.fixture(scope="session")
def bubblewrap() -> Unpacked:
    return _unpacked("bubblewrap")


@pytest.fixture(scope="session")
def shellcheck() -> Path:
    return _unpacked("shellcheck").program


@pytest.fixture(scope="session")
def bash_completion() -> Path:
    """The file that an interactive bash sources."""
    return _unpacked("bash-completion").program


@pytest.fixture(scope="session")
def git_completion() -> Path:
    """The bash completion that comes with git."""
    found = Path("/usr/share/bash-completion/completions/git")
    if not found.exists():
        pytest.skip(f"{_MISSING}git's completion for bash: there is no {found}, install git with its completions")
    return found


@pytest.fixture(scope="session")
def network() -> dict[str, str]:
    """The variables by which pip finds its index although HOME is another one."""
    given = {name: value for name, value in OUTSIDE.items() if name.startswith("PIP_") or "CERT" in name}
    home = Path(OUTSIDE.get("HOME", "/"))
    config = Path(OUTSIDE.get("XDG_CONFIG_HOME", home / ".config"), "pip", "pip.conf")
    for file in (config, home / ".pip" / "pip.conf"):
        if file.exists():
            given.setdefault("PIP_CONFIG_FILE", str(file))
    return given


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment into which the wheel of this checkout was installed."""
    source = copy_of_the_working_tree(tmp_path_factory.mktemp("source"))
    wheels, place = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed") / "venv"
    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
    must([sys.executable, *pip, "wheel", "--no-deps", "-w", wheels, source], source, OUTSIDE, 180)
    must([sys.executable, "-m", "venv", place], wheels, OUTSIDE, 60)
    must([place / "bin" / "python", *pip, "install", *wheels.glob("*.whl")], wheels, OUTSIDE, 180)
    return place


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A server of OpenSSH on this machine that lets its own key in, and nobody else."""
    program = _unpacked("openssh-server").program
    found = _had("a server of OpenSSH", lambda: Sshd(program, tmp_path / "ssh"))
    yield found
    found.close()
