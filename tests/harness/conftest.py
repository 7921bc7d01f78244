"""A project in the middle of work, made once and copied for every test."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.harness.model import Answer, Happening
from gitnexus.hooks import harness as door
from tests.harness.programs import Program

Programs = Callable[[str], Program]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a note, a rule, a plan with two issues and two tasks."""
    place = tmp_path_factory.mktemp("template") / "project"
    home = tmp_path_factory.mktemp("template-home")
    (home / ".gitconfig").write_text("[user]\n\tname = Test Person\n\temail = test@example.com\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "NEXUS_", "XDG_"))}
    env |= {"HOME": str(home), "NEXUS_HOME": str(home / "nexus"), "GIT_CONFIG_NOSYSTEM": "1"}
    plan = {"topic": "Release", "issues": ["How to tag?", "Who announces?"], "research_summary": ""}
    first = {"title": "Write the script", "context": "It lies in bin.", "owner": "engineer", "acceptance": "It runs."}
    second = {"title": "Announce it", "context": "By mail.", "owner": "writer", "deps": [1]}
    for argv in (
        ["git", "init", "-q", str(place)],
        ["git", "-C", str(place), "commit", "-q", "--allow-empty", "-m", "first"],
        ["git", "-C", str(place), "nexus", "init"],
        ["git", "-C", str(place), "nexus", "memory", "add", "pattern-release", "Tag first, then publish."],
        ["git", "-C", str(place), "nexus", "tool", "plan_start", json.dumps(plan)],
        ["git", "-C", str(place), "nexus", "tool", "task_add", json.dumps(first)],
        ["git", "-C", str(place), "nexus", "tool", "task_add", json.dumps(second)],
    ):
        subprocess.run(argv, env=env, check=True, capture_output=True)
    return place


@pytest.fixture
def place(template: Path, tmp_path: Path) -> Path:
    """That project, in a folder whose name has a blank and an umlaut."""
    return Path(shutil.copytree(template, tmp_path / "mein Büro", symlinks=True))


@pytest.fixture
def program(place: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Any program at work in that project; its gate lets everything through."""
    monkeypatch.setitem(door._HANDLERS, "pre_tool_use", f"{__name__}:open_gate")
    return lambda name: Program(name, place, monkeypatch)


def open_gate(told: Happening) -> Answer:
    """Say yes."""
    return Answer(verdict="allow")
