"""A pull request says what is proved, and nothing leaves the machine unasked."""

import json
from pathlib import Path

import pytest

from gitnexus.gateway.testrun.commandline import runner_of
from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.actions.propose import propose_worktree_changes
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.state.home import home_folder
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun
from tests.runs.scene import RUN, RunScene, commit_file, commit_tree, tree_of


@pytest.fixture
def run(project: Path) -> RunScene:
    run_git(project.parent, "init", "-q", "--bare", "there.git")
    run_git(project, "remote", "add", "origin", str(project.parent / "there.git"))
    made = RunScene(project)
    made.commit({"a.txt": "a\n"}, summary="Fixes #1 for @everybody `x` ![i](http://x)")
    return made.end()


def branches(run: RunScene) -> str:
    return run_git(run.project, "ls-remote", "origin")


def fake(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    import os

    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / name


def test_it_prints_and_pushes_nothing(run: RunScene, nexus: Nexus) -> None:
    text = nexus.ok("pr", RUN, "--print")

    for title in ("What was asked", "What was done", "Approvals", "Tests", "How to verify"):
        assert f"## {title}\n" in text
    assert text.startswith("mend it\n")
    assert "- `Fixes #1 for @everybody 'x' ![i](http://x)`" in text
    assert branches(run) == ""


def test_the_command_in_it_verifies(run: RunScene, nexus: Nexus) -> None:
    body = json.loads(nexus.ok("pr", RUN, "--print", "--json"))["body"]
    line = next(line for line in body.splitlines() if line.startswith("git nexus verify"))

    nexus.ok(*line.split()[2:])


def test_without_a_terminal_it_must_be_confirmed(run: RunScene, nexus: Nexus) -> None:
    asked = nexus("pr", RUN)
    before = branches(run)
    told = json.loads(nexus.ok("pr", RUN, "--json", "--confirm", RUN))

    assert (asked.returncode, before) == (2, "")
    assert (told["pushed"], told["url"]) == (True, None)
    assert f"refs/heads/nexus/{RUN}" in branches(run)


def test_where_nobody_could_verify_it_how_they_can_is_told_once(run: RunScene, nexus: Nexus) -> None:
    first = nexus("pr", RUN, "--confirm", RUN)
    run_git(run.project, "push", "-q", "origin", "refs/nexus/state")
    second = nexus("pr", RUN, "--confirm", RUN)

    assert (first.returncode, "git push origin refs/nexus/state" in first.stderr) == (0, True)
    assert (second.returncode, second.stderr) == (0, "")


def test_nothing_is_forced(run: RunScene, nexus: Nexus) -> None:
    other = commit_tree(run.project, tree_of(run.project, "HEAD"), [run.base], "somebody else's\n")
    run_git(run.project, "push", "-q", "origin", f"{other}:refs/heads/nexus/{RUN}")

    done = nexus("pr", RUN, "--confirm", RUN)

    assert done.returncode == 1
    assert other in branches(run)


@pytest.mark.parametrize(("host", "tool"), [("github.com", "gh"), ("gitlab.example.com", "glab")])
def test_it_is_opened_with_the_tool_of_the_remote(
    run: RunScene, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, tool: str
) -> None:
    there = run.project.parent / "there.git"
    run_git(run.project, "remote", "set-url", "origin", f"https://{host}/ada/x.git")
    run_git(run.project, "config", f"url.{there}.insteadOf", f"https://{host}/ada/x.git")
    fake(tmp_path / "bin", tool, f'printf "%s\\n" "$@" > {tmp_path}/said; echo https://{host}/ada/x/1', monkeypatch)

    told = json.loads(nexus.ok("pr", RUN, "--json", "--confirm", RUN))

    assert told["url"] == f"https://{host}/ada/x/1"
    said = (tmp_path / "said").read_text().splitlines()
    assert f"nexus/{RUN}" in said
    assert "main" in said


def test_what_is_not_approved_is_not_proposed(run: RunScene, nexus: Nexus) -> None:
    bad = commit_tree(run.project, tree_of(run.project, "HEAD"), [run.tip], "more\n")
    run_git(run.project, "update-ref", f"refs/heads/nexus/{RUN}", bad)
    run.end()

    assert nexus("pr", RUN, "--print").returncode == 22


@pytest.mark.slow
def test_it_tells_which_tests_were_run_and_how_they_ended(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "allow", "--user", "--", "python3", "-m", "unittest", "discover")
    case = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(True)\n"
    commit_file(project, ".gitignore", "__pycache__/\n")
    (home_folder() / "settings.json").write_text('{"runs": {"checks": [["true"]]}}')
    with begun(project) as desk:
        (desk.worktree_path / "test_it.py").write_text(case)
        propose_worktree_changes(desk, "a test", "main")
        call_run_tool(desk, "propose_command", {"argv": ["python3", "-m", "unittest"]})
        approve_action(desk, "a2")
        approve_action(desk, "a1")
        run, place = desk.record.id, desk.worktree_path
        call_run_tool(desk, "propose_command", {"argv": ["true"]})
        approve_action(desk, "a3")
    nexus.ok("tool", "tests.run", '{"runner": "unittest"}', place=place)
    nexus.ok("resume", run)

    tests = nexus.ok("pr", run, "--print").partition("## Tests\n\n")[2].partition("\n\n")[0].splitlines()

    assert tests[0].startswith("- `python3 -m unittest: 1 passed, on ")
    assert tests[1:] == [
        "- `python3 -m unittest discover: 1 passed`", "- `true: a check of the project, run before it lands`"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "runner"),
    [
        (("pytest", "-q"), "pytest"),
        (("/usr/bin/python3", "-m", "pytest"), "pytest"),
        (("python3", "-m", "unittest", "discover"), "unittest"),
        (("go", "test", "./..."), "go"),
        (("go", "build"), ""),
        (("npm", "install"), ""),
        (("ls",), ""),
    ],
)
def test_a_command_is_a_test_if_it_calls_a_runner(argv: tuple[str, ...], runner: str) -> None:
    assert runner_of(argv) == runner
