"""`deny --read`: searches, globs, folders entered by `cd` and links are judged by the files that they reach."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.app.harnessgate import judged
from gitnexus.app.runtools import call
from gitnexus.harness.model import Happening
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun

RULES = """---
version: 1
allow:
- run: [cat, "**"]
- run: [grep, "**"]
- run: [ls, "**"]
- run: [cd, "**"]
- run: [git, "**"]
deny:
- {name: customers, read: ["customers/**"]}
---
"""
SEARCHES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "claude-code": [
        ("Grep", {"pattern": "x", "path": "customers"}),
        ("Grep", {"pattern": "x"}),
        ("Grep", {"pattern": "x", "glob": "*.csv"}),
        ("Glob", {"pattern": "**/*.csv"}),
        ("Glob", {"pattern": "cust*/*"}),
        ("Glob", {"pattern": "{src,customers}/*.csv"}),
        ("LS", {"path": "customers"}),
        ("Read", {"file_path": "link/list.csv"}),
        ("Grep", {"pattern": "x", "path": "link"}),
    ],
    "gemini-cli": [
        ("grep_search", {"pattern": "x", "dir_path": "customers"}),
        ("search_file_content", {"pattern": "x"}),
        ("glob", {"pattern": "**/list.*"}),
        ("read_many_files", {"include": ["**/*.csv"]}),
        ("read_file", {"file_path": "link/list.csv"}),
    ],
    "opencode": [
        ("grep", {"pattern": "x", "path": "customers"}),
        ("grep", {"pattern": "x"}),
        ("glob", {"pattern": "*.csv"}),
        ("read", {"filePath": "link/list.csv"}),
    ],
}
SHELL = {"claude-code": "Bash", "codex": "Bash", "gemini-cli": "run_shell_command", "opencode": "bash"}
TEXTS = [
    "grep -r x customers",
    "grep -rn x .",
    "grep -rx",
    "grep --recursive x",
    "cat cust*/list.csv",
    "cat */list.csv",
    "cat {src,customers}/list.csv",
    "cat customerss#/list.csv",
    "cat ^src/list.csv",
    "cat *~src/list.csv",
    "cat customers~x/list.csv",
    "cd customers && cat list.csv",
    "cd customers; cd ..; cd customers; cat list.csv",
    "cd src && cat ../customers/list.csv",
    "(cd customers; cat list.csv)",
    "cat link/list.csv",
    "cat file-link",
    "cat < customers/list.csv",
    "sh -c 'cd customers && cat list.csv'",
    "git grep x",
    "git show HEAD",
    "git log -p",
    "git -C customers show HEAD:./list.csv",
    "ls customers",
]


@pytest.fixture
def place(project: Path, sealed: Path) -> Path:
    for name in ("customers/list.csv", "src/a.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("x\n")
    (project / "link").symlink_to("customers")
    (project / "file-link").symlink_to("customers/list.csv")
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "policy.md").write_text(RULES)
    return project


def said(place: Path, harness: str, tool: str, given: dict[str, Any]) -> tuple[str, str]:
    told = Happening(harness, "pre_tool_use", "PreToolUse", tool=tool, given=given, session="s", cwd=str(place))
    answer = judged(told)
    return answer.verdict, answer.reason


@pytest.mark.parametrize("harness", SEARCHES)
def test_no_search_of_a_program_reaches_what_is_not_read(place: Path, harness: str) -> None:
    for tool, given in SEARCHES[harness]:
        verdict, why = said(place, harness, tool, given)
        assert (verdict, "user.customers" in why) == ("deny", True), (tool, given, verdict, why)


@pytest.mark.parametrize("harness", SHELL)
def test_no_shell_of_a_program_reaches_what_is_not_read(place: Path, harness: str) -> None:
    for text in TEXTS:
        verdict, why = said(place, harness, SHELL[harness], {"command": text})
        assert (verdict, "user.customers" in why) == ("deny", True), (text, verdict, why)


def test_what_lies_beside_it_is_read_and_searched_as_before(place: Path) -> None:
    assert said(place, "claude-code", "Grep", {"pattern": "x", "path": "src"})[0] == ""
    assert said(place, "claude-code", "Glob", {"pattern": "**/*.py"})[0] == ""
    for text in ("grep -r customers src", "cat src/a.py", "ls", "git log -1", "git diff --stat", "git status"):
        assert said(place, "codex", "Bash", {"command": text})[0] == "allow", text


def test_a_search_that_reached_nothing_is_judged_anew_once_there_is_something(place: Path) -> None:
    (place / "customers" / "list.csv").unlink()
    (place / "customers").rmdir()
    assert [said(place, "codex", "Bash", {"command": "grep -r x ."})[0] for _ in range(2)] == ["allow", "allow"]
    (place / "customers").mkdir()
    assert said(place, "codex", "Bash", {"command": "grep -r x ."})[0] == "allow"
    (place / "customers" / "list.csv").write_text("x\n")
    assert said(place, "codex", "Bash", {"command": "grep -r x ."})[0] == "deny"


def test_commands_of_runs_and_tools_reach_no_more(place: Path, nexus: Nexus) -> None:
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "all")
    with begun(place) as desk:
        for argv in (["grep", "-r", "x", "."], ["sh", "-c", "cd customers && cat list.csv"], ["cat", "link/list.csv"]):
            told = call(desk, "propose_command", {"argv": argv})
            assert (told["status"], told["rule"]) == ("denied", "user.customers"), argv
    done = nexus("tool", "cmd.run", json.dumps({"argv": ["grep", "-r", "x", "customers"]}))
    assert (done.returncode, "user.customers" in done.stdout) == (20, True), done


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
def test_a_path_of_a_user_that_is_not_there_is_judged_and_breaks_nothing(place: Path, harness: str) -> None:
    tool = {"claude-code": "Bash", "codex": "shell"}[harness]
    verdict, why = said(place, harness, tool, {"command": "cat ~nobody-of-this-name/x customers/list.csv"})

    assert verdict == "deny", why
    assert "E_BUG" not in why
