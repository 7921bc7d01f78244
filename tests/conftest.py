"""A sealed home for every test: no user config, no GIT_*, no registry of the person who runs them."""

import itertools
import os
import pty
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests.forked import Forker

# How long an example takes is the machine's affair. A few of them with every change, many where there is time.
settings.register_profile("few", deadline=None, max_examples=30)
settings.register_profile("many", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("EXAMPLES", "few"))

# Whoever starts tests in the background of a shell has Ctrl-C ignored, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

Git = Callable[..., str]


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the homes of all tests go; pytest itself would count all that are there before it makes one."""
    place = tmp_path_factory.mktemp("homes")
    return (place / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def sealed(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = next(homes)
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("GIT_", "NEXUS_", "XDG_")) or name in ("NO_COLOR", "PYTHONPATH"):
            monkeypatch.delenv(name)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("NEXUS_HOME", str(home / "nexus"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    yield home


def run_git(place: Path, *argv: str, check: bool = True, stdin: str = "") -> str:
    """Run the user's own git, hooks and all, and return what it printed."""
    done = subprocess.run(["git", *argv], cwd=place, input=stdin, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"git {' '.join(argv)} → {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def terminal(place: Path, *argv: str, env: dict[str, str] | None = None) -> str:
    """Run a command on a terminal of its own and return what it drew."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.environ.update({"TERM": "xterm-256color", **(env or {})})
        os.execvp(argv[0], list(argv))
    shown = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.waitpid(pid, 0)
    os.close(fd)
    return shown.decode()


def trust(place: Path) -> None:
    """Sign what waits for a signature, as a person would with git nexus policy trust."""
    from gitnexus.app import open_nexus
    from gitnexus.app.trust import trust as sign
    from gitnexus.app.trust import waiting

    nexus = open_nexus(place)
    files = waiting(nexus.state)
    if files:
        sign(nexus.state, files)
    nexus.close()


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the repository stands that every test gets a copy of: three gits less for each of thousands."""
    return tmp_path_factory.mktemp("first commit") / "repository"


@pytest.fixture
def repository(tmp_path: Path, first_commit: Path) -> Path:
    """A repository with one commit, in a folder whose name has a blank and an umlaut."""
    if not first_commit.exists():
        first_commit.mkdir()
        run_git(first_commit, "init", "-q")
        (first_commit / "readme.txt").write_text("hello\n")
        run_git(first_commit, "add", ".")
        run_git(first_commit, "commit", "-qm", "first")
    return shutil.copytree(first_commit, tmp_path / "mein Büro", symlinks=True)


@cache
def _forker() -> Forker:
    return Forker()


class Nexus:
    """The command as a person calls it: a process of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, *argv: str, place: Path | None = None, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return _forker()(argv, place or self.place, stdin)

    def ok(self, *argv: str, place: Path | None = None) -> str:
        done = self(*argv, place=place)
        assert done.returncode == 0, f"{argv} → {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def nexus(repository: Path) -> Nexus:
    """git nexus in `repository`, not initialised."""
    return Nexus(repository)


@pytest.fixture
def project(nexus: Nexus) -> Path:
    """An initialised project: as `git nexus init` does it, in this process, because most tests need one."""
    from gitnexus.app.init import initialise

    initialise(nexus.place, name=None, aliases=(), with_hooks=True, local=False).nexus.close()
    return nexus.place
