"""How objects are opened is chosen in one place, by how long the process lives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus.git import object_access
from gitnexus.git.discovery import discover
from gitnexus.git.native import NativeObjects
from gitnexus.git.object_access import choose_pygit2_for_process, open_objects
from gitnexus.git.plumbing import PlumbingObjects
from gitnexus.state.home import make_home
from tests.conftest import Nexus, run_git

_SCRIPT = """
import json, sys
from gitnexus.git import object_access
from gitnexus.main import main

opened = []
usual = object_access.open_objects

def noted(*given):
    opened.append(usual(*given))
    return opened[-1]

object_access.open_objects = noted
sys.argv = ["git-nexus", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted({type(one).__name__ for one in opened})), file=sys.stderr)
"""


@pytest.fixture
def process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_access, "_process", {"life": "short"})


def test_a_process_that_chose_pygit2_opens_everything_with_it(process_of_its_own: None, repository: Path) -> None:
    repo = discover(repository)
    before = open_objects(repo)

    choose_pygit2_for_process()

    assert isinstance(before, PlumbingObjects)
    assert isinstance(open_objects(repo), NativeObjects)
    assert isinstance(open_objects(repo, "short"), PlumbingObjects)
    assert isinstance(make_home().objects, NativeObjects)


def test_a_format_that_libgit2_does_not_know_is_opened_with_children(process_of_its_own: None, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--object-format=sha256", "other")

    choose_pygit2_for_process()

    assert isinstance(open_objects(discover(tmp_path / "other")), PlumbingObjects)


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (["mcp"], ["NativeObjects"]),
        pytest.param(["chat", "--plain"], ["NativeObjects"], marks=pytest.mark.slow),
        (["status"], ["PlumbingObjects"]),
    ],
)
def test_what_serves_or_waits_uses_pygit2_and_a_plain_command_does_not(
    argv: list[str], names: list[str], project: Path
) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nx_context", "arguments": {}}},
    ]
    stdin = "".join(f"{json.dumps(call)}\n" for call in calls) if argv == ["mcp"] else ""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    done = subprocess.run([sys.executable, "-c", _SCRIPT, *argv], cwd=project, input=stdin, capture_output=True,
                          text=True, check=False, env=env)  # fmt: skip

    assert done.stderr.splitlines()[-1] == json.dumps(names), done.stderr


@pytest.mark.slow
def test_a_worker_uses_pygit2(nexus: Nexus, project: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "server.git"))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    done = subprocess.run([sys.executable, "-c", _SCRIPT, "worker", "--once", "--poll", "0.05"], cwd=project,
                          capture_output=True, text=True, check=False, env=env)  # fmt: skip

    assert done.stderr.splitlines()[-1] == json.dumps(["NativeObjects"]), done.stderr
