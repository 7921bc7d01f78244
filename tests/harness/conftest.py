"""A project in the middle of work, made once and copied for every test."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.harness.model import HarnessEvent, HookAnswer
from gitnexus.hooks import harness as door
from tests.conftest import Nexus, Templates, run_git
from tests.harness.programs import Program

Programs = Callable[[str], Program]


def _make_project_at_work(folder: Path) -> None:
    """A project with a note, a rule, a plan with two issues and two tasks."""
    place, home = folder / "project", folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Test Person\n\temail = test@example.com\n")
    plan = {"topic": "Release", "issues": ["How to tag?", "Who announces?"], "research_summary": ""}
    first = {"title": "Write the script", "context": "It lies in bin.", "owner": "engineer", "acceptance": "It runs."}
    second = {"title": "Announce it", "context": "By mail.", "owner": "writer", "deps": [1]}
    place.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("GIT_", "NEXUS_", "XDG_")):
                patch.delenv(name)
        for name, value in (("HOME", home), ("NEXUS_HOME", home / "nexus"), ("GIT_CONFIG_NOSYSTEM", "1")):
            patch.setenv(name, str(value))
        run_git(place, "init", "-q")
        run_git(place, "commit", "-q", "--allow-empty", "-m", "first")
        for argv in (
            ("init",),
            ("memory", "add", "pattern-release", "Tag first, then publish."),
            ("tool", "plan_start", json.dumps(plan)),
            ("tool", "task_add", json.dumps(first)),
            ("tool", "task_add", json.dumps(second)),
        ):
            Nexus(place).ok(*argv)


@pytest.fixture
def place(templates: Templates, tmp_path: Path) -> Path:
    """That project, in a folder whose name has a blank and an umlaut."""
    template = templates.get("project at work", _make_project_at_work) / "project"
    return Path(shutil.copytree(template, tmp_path / "mein Büro", symlinks=True))


@pytest.fixture
def program(place: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Any program at work in that project; its gate lets everything through."""
    monkeypatch.setitem(door._HANDLERS, "pre_tool_use", f"{__name__}:open_gate")
    return lambda name: Program(name, place, monkeypatch)


def open_gate(told: HarnessEvent) -> HookAnswer:
    """Say yes."""
    return HookAnswer(verdict="allow")
