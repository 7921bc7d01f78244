"""The shim lets far too much through to Python, never too little."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from gitnexus.base import shim
from gitnexus.git.hookfiles import EVENTS, SYNC_EVENT
from gitnexus.main import _GIT_HOOKS
from gitnexus.policy import DENIED, denied_by
from gitnexus.redaction.rules import RULES

SHIM = Path(shim.shim_source_path())
PATTERNS = re.findall(r"-e '([^']+)'", SHIM.read_text())


def let_through(lines: list[str]) -> list[str]:
    """Return those of the lines that the shim's grep lets through."""
    assert not any("\n" in line for line in lines)
    options = [part for pattern in PATTERNS for part in ("-e", pattern)]
    argv = ["grep", "-ainE", *options]
    text = "".join(f"{line}\n" for line in lines).encode()
    done = subprocess.run(argv, input=text, env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [lines[int(row.split(b":", 1)[0]) - 1] for row in done.stdout.splitlines()]


def examples(pattern: str) -> list[str]:
    return [pattern.replace("*", "x"), "deep/er/" + pattern.replace("*", "x").upper()]


def test_the_two_patterns_of_the_shim_are_found() -> None:
    assert len(PATTERNS) == 2


def test_every_secret_that_python_would_find_is_let_through() -> None:
    added, removed = ([f"{sign}  x = {rule.example}" for rule in RULES] for sign in "+-")

    assert let_through(added) == added
    assert let_through(removed) == []


def test_a_value_behind_a_name_alone_is_let_through() -> None:
    names = [
        "DB_PWD",
        "master_key",
        "credentials",
        "signing-key",
        "STORAGE_KEY_2",
        "encryption_key_base64",
        "passphrase",
    ]
    said = [
        f"{name}{sign}Zq3x9Lm2Vb7TaK4w" for name in names for sign in (" ", "=", ": ", "\t", "> ", '"] = "', " is ")
    ]
    lines = [f"+ENV {one}" for one in said]

    assert let_through(lines) == lines


def test_every_denied_path_is_let_through() -> None:
    paths = [path for pattern in DENIED if not pattern.startswith("!") for path in examples(pattern)]
    lines = [f"diff --git a/{path} b/{path}" for path in paths]

    assert [path for path in paths if denied_by(path) is None] == []
    assert let_through(lines) == lines


def test_ordinary_changes_are_settled_in_the_shell() -> None:
    assert let_through(["diff --git a/src/main.py b/src/main.py", "+    return total + 1"]) == []


def test_examples_and_look_alikes_are_not_denied() -> None:
    for path in (".env.example", "docs/env.md", "src/keyboard.py", "monkey.js"):
        assert denied_by(path) is None, path


def test_the_command_table_knows_the_same_hooks_as_the_installer() -> None:
    assert (*EVENTS, SYNC_EVENT) == _GIT_HOOKS


def test_a_repository_that_is_not_initialised_is_a_silent_success_without_python(
    repository: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "bin"
    trap.mkdir()
    (trap / "git-nexus").write_text(f"#!/bin/sh\ntouch '{tmp_path / 'python-was-started'}'\n")
    (trap / "git-nexus").chmod(0o755)

    for event in (*EVENTS, "no-such-event"):
        done = subprocess.run(
            ["/bin/sh", str(SHIM), event, "a", "b"],
            cwd=repository,
            env={"PATH": f"{trap}:/usr/bin:/bin"},
            capture_output=True,
            check=False,
        )

        assert (event, done.returncode, done.stdout, done.stderr) == (event, 0, b"", b"")
        assert not (tmp_path / "python-was-started").exists(), event


@pytest.mark.parametrize("place", [".", "sub folder"])
def test_outside_a_repository_and_below_its_top_it_is_at_ease(tmp_path: Path, repository: Path, place: str) -> None:
    (repository / "sub folder").mkdir()
    for folder in (tmp_path, repository / place):
        done = subprocess.run(["/bin/sh", str(SHIM), "pre-commit"], cwd=folder, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
