"""Which hooks of the user a landing runs, by each of its ways."""

from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.scene import RUN, RunScene, commit_file

NAMES = (
    "pre-commit",
    "commit-msg",
    "pre-merge-commit",
    "prepare-commit-msg",
    "post-commit",
    "post-merge",
    "pre-rebase",
)


@pytest.mark.parametrize(
    ("way", "ran"),
    [
        ("merge", ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"]),
        ("rebase", ["post-merge"]),
        ("squash", ["post-merge"]),
    ],
)
def test_a_landing_runs_the_hooks_that_the_page_names(
    nexus: Nexus, project: Path, tmp_path: Path, way: str, ran: list[str]
) -> None:
    run = RunScene(project)
    run.commit({"a.txt": "a\n"})
    run.end()
    commit_file(project, "mine.txt", "mine\n")
    hooks, seen = tmp_path / "hooks", tmp_path / "seen"
    hooks.mkdir()
    for name in NAMES:
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{seen}'\n")
        (hooks / name).chmod(0o755)
    run_git(project, "config", "core.hooksPath", str(hooks))

    nexus.ok("land", RUN, f"--{way}")

    assert seen.read_text().split() == ran
