"""A worktree, something outside it worth stealing, and a command run between the two."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitnexus.sandbox import launcher
from gitnexus.sandbox.environment import PATH, command_environment
from gitnexus.sandbox.levels import try_level
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import Level, SandboxLimits, SandboxOutcome, SandboxSpec

Box = Callable[..., SandboxOutcome]

QUICK = SandboxLimits(seconds=60, cpu_seconds=30, processes=64)
# Where the slow tests have unpacked bubblewrap on a machine that does not have it installed.
UNPACKED = os.environ.get("TEST_BWRAP", "")


@pytest.fixture(autouse=True)
def unpacked_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the bubblewrap that was unpacked for the tests, if there is one."""
    if UNPACKED:
        monkeypatch.setattr("gitnexus.sandbox.plan.WRAPPER", (UNPACKED,))


@pytest.fixture(autouse=True)
def launcher_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start launchers as the product does everywhere; the other tests have them forked."""
    monkeypatch.setattr("gitnexus.sandbox.launcher.subprocess", subprocess)
    if not all(isinstance(idle.process, subprocess.Popen) for idle in launcher._idle):
        launcher._stop_idle_launchers()


def need(level: Level) -> None:
    """Skip, naming what is missing, where the machine does not have the level."""
    found = try_level(level)
    if not found.there:
        pytest.skip(f"this machine cannot confine at {level}: {found.why}; git nexus doctor says what would help")


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    place = Path(os.path.realpath(tmp_path)) / "work tree"
    place.mkdir()
    return place


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder like ~/.aws, with a secret and a file that is writable for us."""
    place = Path(os.path.realpath(tmp_path)) / "outside"
    place.mkdir(mode=0o700)
    (place / "credentials").write_text("the secret\n")
    (place / "credentials").chmod(0o600)
    return place


def spec_of(worktree: Path, level: Level, argv: tuple[str, ...], **fields: Any) -> SandboxSpec:
    given = {"env": command_environment({}, {}), "limits": QUICK, "cwd": str(worktree), **fields}
    program = resolve_program(argv[0], PATH, str(worktree), str(worktree)).path
    return SandboxSpec(argv=argv, program=program, root=str(worktree), level=level, **given)


@pytest.fixture
def box(worktree: Path) -> Box:
    """Run a command in the worktree at a level; a test is skipped if the machine does not have it."""

    def boxed(level: Level, *argv: str, sink: Any = None, **fields: Any) -> SandboxOutcome:
        need(level)
        return run_in_sandbox(spec_of(worktree, level, argv, **fields), sink)

    return boxed


@pytest.fixture
def python(box: Box) -> Box:
    """Run Python code in the worktree; the interpreter's own folders are readable."""
    folders = tuple({os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix)})
    program = os.path.realpath(sys.executable)

    def run_code(level: Level, code: str, readable_too: tuple[str, ...] = (), **fields: Any) -> SandboxOutcome:
        return box(level, program, "-I", "-S", "-c", code, readable=(*folders, *readable_too), **fields)

    return run_code
