"""The shim lets far too much through to Python, never too little."""

import re
import subprocess
from pathlib import Path

import pytest

from gitnexus.base import shim
from gitnexus.git.hookfiles import EVENTS, SYNC_EVENT
from gitnexus.main import _GIT_HOOKS
from gitnexus.policy import DENIED, denied_by
from gitnexus.redaction.rules import RULES, Rule

SHIM = Path(shim.source())
PATTERNS = re.findall(r"-e '([^']+)'", SHIM.read_text())


def let_through(line: str) -> bool:
    options = [part for pattern in PATTERNS for part in ("-e", pattern)]
    return subprocess.run(["grep", "-aiqE", *options], input=line.encode(), check=False).returncode == 0


def examples(pattern: str) -> list[str]:
    return [pattern.replace("*", "x"), "deep/er/" + pattern.replace("*", "x").upper()]


def test_the_two_patterns_of_the_shim_are_found() -> None:
    assert len(PATTERNS) == 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_secret_that_python_would_find_is_let_through(rule: Rule) -> None:
    assert let_through(f"+  x = {rule.example}")
    assert not let_through(f"-  x = {rule.example}")


@pytest.mark.parametrize("pattern", [p for p in DENIED if not p.startswith("!")])
def test_every_denied_path_is_let_through(pattern: str) -> None:
    for path in examples(pattern):
        assert denied_by(path) is not None
        assert let_through(f"diff --git a/{path} b/{path}")


def test_ordinary_changes_are_settled_in_the_shell() -> None:
    assert not let_through("diff --git a/src/main.py b/src/main.py")
    assert not let_through("+    return total + 1")


@pytest.mark.parametrize("path", [".env.example", "docs/env.md", "src/keyboard.py", "monkey.js"])
def test_examples_and_look_alikes_are_not_denied(path: str) -> None:
    assert denied_by(path) is None


def test_the_command_table_knows_the_same_hooks_as_the_installer() -> None:
    assert (*EVENTS, SYNC_EVENT) == _GIT_HOOKS


@pytest.mark.parametrize("event", [*EVENTS, "no-such-event"])
def test_a_repository_that_is_not_initialised_is_a_silent_success_without_python(
    repository: Path, tmp_path: Path, event: str
) -> None:
    trap = tmp_path / "bin"
    trap.mkdir()
    (trap / "git-nexus").write_text(f"#!/bin/sh\ntouch '{tmp_path / 'python-was-started'}'\n")
    (trap / "git-nexus").chmod(0o755)

    done = subprocess.run(
        ["/bin/sh", str(SHIM), event, "a", "b"],
        cwd=repository,
        env={"PATH": f"{trap}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "python-was-started").exists()


@pytest.mark.parametrize("place", [".", "sub folder"])
def test_outside_a_repository_and_below_its_top_it_is_at_ease(tmp_path: Path, repository: Path, place: str) -> None:
    (repository / "sub folder").mkdir()
    for folder in (tmp_path, repository / place):
        done = subprocess.run(["/bin/sh", str(SHIM), "pre-commit"], cwd=folder, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
