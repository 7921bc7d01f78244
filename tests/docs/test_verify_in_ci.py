"""The jobs and the hook of the page on CI, run as they stand there."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Nexus, run_git
from tests.rows import few_fast
from tests.runs.scene import RUN, RunScene, commit_file

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "verify-in-ci.md"
BLOCKS = re.findall(r"^```(yaml|sh)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
HOOK = next(text for kind, text in BLOCKS if text.startswith("#!/bin/sh"))


def job(name: str) -> dict[str, Any]:
    found = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]
    return next(value for value in found if name in value)


def github() -> str:
    return str(job("jobs")["jobs"]["verify"]["steps"][-1]["run"])


def gitlab() -> str:
    return "\n".join(job("verify-approvals")["verify-approvals"]["script"])


@pytest.fixture
def server(project: Path) -> Path:
    """A bare repository with main and the state."""
    place = project.parent / "server.git"
    run_git(project.parent, "init", "-q", "--bare", str(place))
    run_git(project, "remote", "add", "origin", str(place))
    run_git(project, "push", "-q", "origin", "main", "refs/nexus/state")
    return place


def stranger(tmp_path: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "NEXUS_HOME": str(tmp_path / "stranger"), **more}


@pytest.mark.parametrize("script", few_fast([github, gitlab]))
@pytest.mark.parametrize("approved", [True, False])
def test_a_job_passes_what_is_approved_and_nothing_else(
    project: Path, server: Path, nexus: Nexus, tmp_path: Path, script: Any, approved: bool
) -> None:
    run = RunScene(project)
    run.commit({"a.txt": "a\n"})
    base, root = run.base, json.loads(nexus.ok("approver", "list", "--json"))["pin"]
    run_git(project, "push", "-q", "origin", f"nexus/{RUN}")
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", "-b", f"nexus/{RUN}", str(server), str(clone))
    if not approved:
        commit_file(clone, "mine.txt", "x\n")
    told = {"ROOT": root, "NEXUS_ROOT": root, "BASE": base, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}

    def ran(**more: str) -> "subprocess.CompletedProcess[str]":
        env = stranger(tmp_path, **told) | more
        return subprocess.run(
            ["sh", "-e"], input=script(), cwd=clone, env=env, text=True, capture_output=True, check=False
        )

    done, forgotten = ran(), ran(ROOT="", NEXUS_ROOT="")

    assert done.returncode == (0 if approved else 22), done.stdout + done.stderr
    assert (forgotten.returncode, "pins no project" in forgotten.stderr) == (6, True)


def test_the_hook_refuses_what_is_not_approved_before_it_is_there(
    project: Path, server: Path, nexus: Nexus, tmp_path: Path
) -> None:
    hook = server / "hooks" / "pre-receive"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    run_git(server, "config", "nexus.root", json.loads(nexus.ok("approver", "list", "--json"))["pin"])
    run = RunScene(project)
    run.commit({"a.txt": "a\n"})
    run.commit({"b.txt": "b\n"})
    run.end()
    nexus.ok("land", RUN)

    def pushed() -> "subprocess.CompletedProcess[str]":
        argv = ["git", "push", "origin", "main"]
        return subprocess.run(argv, cwd=project, env=stranger(tmp_path), capture_output=True, text=True, check=False)

    good = pushed()
    landed = run_git(project, "rev-parse", "HEAD").strip()
    commit_file(project, "mine.txt", "x\n")
    bad = pushed()

    assert good.returncode == 0, good.stderr
    assert bad.returncode != 0
    assert "unapproved" in bad.stderr
    assert run_git(server, "rev-parse", "main").strip() == landed


@pytest.fixture
def guarded(project: Path, nexus: Nexus) -> Path:
    """A bare repository with the state and the hook, and no branch yet."""
    place = project.parent / "guarded.git"
    run_git(project.parent, "init", "-q", "--bare", str(place))
    run_git(project, "remote", "add", "origin", str(place))
    run_git(project, "push", "-q", "origin", "refs/nexus/state")
    hook = place / "hooks" / "pre-receive"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    run_git(place, "config", "nexus.root", json.loads(nexus.ok("approver", "list", "--json"))["pin"])
    return place


@pytest.mark.slow
def test_the_hook_takes_a_first_push_from_the_commit_on_that_its_owner_names(
    project: Path, guarded: Path, nexus: Nexus, tmp_path: Path
) -> None:
    def push(*what: str) -> "subprocess.CompletedProcess[str]":
        argv = ["git", "push", "origin", *what]
        return subprocess.run(argv, cwd=project, env=stranger(tmp_path), capture_output=True, text=True, check=False)

    run = RunScene(project)
    before = run.base
    run.commit({"a.txt": "a\n"})
    run.end()
    nexus.ok("land", RUN)
    landed = run_git(project, "rev-parse", "HEAD").strip()
    ordinary = push("main")
    run_git(guarded, "config", "nexus.since", landed)
    other = push(f"{before}:refs/heads/main")
    run_git(guarded, "config", "nexus.since", before)
    first = push("main")

    assert (ordinary.returncode != 0, "unapproved" in ordinary.stderr) == (True, True)
    assert other.returncode != 0
    assert first.returncode == 0, first.stderr
    assert run_git(guarded, "rev-parse", "main").strip() == landed

    # What follows, in one repository: each of these would cost a project of its own.
    run_git(project, "tag", "v1", before)
    same, tag, branch = push("main"), push("v1"), push(f"{before}:refs/heads/side")
    back, gone = push("--force", f"{before}:main"), push("--delete", "main")
    commit_file(project, "mine.txt", "x\n")
    unapproved = push("main")

    assert [one.returncode for one in (same, tag, branch)] == [0, 0, 0]
    assert (back.returncode != 0, gone.returncode != 0, unapproved.returncode != 0) == (True, True, True)
    assert "stays: deleted and pushed again" in gone.stderr
    assert run_git(guarded, "rev-parse", "main").strip() == landed
