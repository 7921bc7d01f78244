"""`deny --read`: searches, globs, folders entered by `cd` and links are judged by the files that they reach."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.harness.model import HarnessEvent
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.toolgate.gate import answer_tool_call
from tests.conftest import Nexus, run_git
from tests.rows import few_fast
from tests.runs.begun import begun

RULES = """---
version: 1
allow:
- run: [cat, "**"]
- run: [grep, "**"]
- run: [ls, "**"]
- run: [cd, "**"]
- run: [git, "**"]
- run: [find, "**"]
- run: [diff, "**"]
- run: [rg, "**"]
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
        ("Read", {"file_path": "deep/../customers/list.csv"}),
        ("Grep", {"pattern": "x", "path": "link"}),
        *(
            (tool, {"pattern": "**/*", "path": path})
            for tool in ("Grep", "Glob", "LS")
            for path in ("..", "/", "ABOVE")
        ),
        *(
            ("Glob", {"pattern": one})
            for one in (
                *("TOP/customers/*", "../NAME/customers/*", "cust@(omers)/*", "?(x)customers/**", "[^x]ustomers/*"),
                *("lin*/*", "src/../customers/*", "*/../customers/*", "cust\\omers/*", "cust{n..p}mers/*", "CUST*/*"),
            )
        ),
        ("Glob", {"pattern": "TOP/customers/*", "path": "/nowhere"}),
        ("Grep", {"pattern": "x", "glob": "*.py,customers/*"}),
    ],
    "gemini-cli": [
        ("read_many_files", {"include": ["../NAME/customers/*"]}),
        ("read_many_files", {"include": ["TOP/customers/*"]}),
        ("read_many_files", {"include": ["src/**"], "paths": ["customers/*"]}),
        ("read_file", {"file_path": "src/a.py", "absolute_path": "TOP/customers/list.csv"}),
        ("glob", {"pattern": "*", "dir_path": "src", "path": "customers"}),
        ("grep_search", {"pattern": "x", "dir_path": "customers"}),
        ("search_file_content", {"pattern": "x"}),
        ("glob", {"pattern": "**/list.*"}),
        ("read_many_files", {"include": ["**/*.csv"]}),
        ("read_file", {"file_path": "link/list.csv"}),
        *(
            (tool, {"pattern": "**/*", "dir_path": at})
            for tool in ("grep_search", "glob")
            for at in ("..", "/", "ABOVE")
        ),
        ("run_shell_command", {"command": "grep -r x", "dir_path": "ABOVE"}),
    ],
    "opencode": [
        ("grep", {"pattern": "x", "path": "customers"}),
        ("grep", {"pattern": "x"}),
        ("glob", {"pattern": "*.csv"}),
        ("read", {"filePath": "link/list.csv"}),
        *((tool, {"pattern": "**/*", "path": path}) for tool in ("grep", "glob", "list") for path in ("..", "ABOVE")),
        ("bash", {"command": "grep -r x", "workdir": "ABOVE"}),
    ],
    "codex": [
        ("exec_command", {"cmd": "grep -r x", "workdir": "ABOVE"}),
        ("exec_command", {"cmd": "grep -rhex ..", "workdir": "src"}),
        ("exec_command", {"cmd": "rg --files ../customers", "workdir": "src"}),
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
    "grep -r x ..",
    "grep -r x ABOVE",
    "grep -r x /",
    "find .. -name list.csv",
    "diff -r .. src",
    "ls -R ..",
    "ls --recursive",
    "ls --recu ..",
    "rg x ..",
    "rg x",
    "grep -d recurse x .",
    "grep --directories=recurse x .",
    "grep -r -e src",
    "grep -r -A 1 src",
    "find -newer src",
    "cat [[:lower:]]ustomers/list.csv",
    "timeout 5 grep -r x .",
    "cat ''",
    "git log -p ''",
    "git log -p -- .",
    "git add *",
    "git rm -r --cached .",
    "git checkout .",
    "cat .",
    "wc -l .",
    "ls src/.. -R",
]


SHOWN = (
    """
git log -U3|git log --unified=3|git log --unif=3|git log --binary|git log -U3 -- ':(top,icase)CUST*'
git log -c|git log -L1,2:src/a.py
git log -p -- src ':(top)customers'|git log -p -- src 'c*v'|git log -p --full-diff -- src|git log -p --follow src/a.py
git show|git show --stat -p|git show -s -U3|git show --no-patch --patch|git show -s abcd123|git show main
git diff --stat -U3|git diff abcd123 -- src|git diff-tree -p HEAD|git status -v|git status -vv|git status --verb
git commit --dry-run -v|git cat-file -p abcd123|git cat-file blob abcd123|git cat-file --batch|git unpack-file abcd123
git archive HEAD|git bundle create x HEAD|git fast-export HEAD|git format-patch -1|git stash show -p|git stash list -p
git blame customers/list.csv|git grep x|git worktree add ../copy|git read-tree --prefix=src/x/ abcd123
git restore --source=abcd123 list.csv|git checkout abcd123 -- list.csv|git -c alias.x=show x|git x|git add -p
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
UNSHOWN = (
    """
git log|git log --oneline -5 --stat|git log -p -- src|git log -p src|git diff src|git diff HEAD -- src/a.py
git status -s|git diff --stat|git diff --name-only HEAD|git show --stat HEAD|git branch -vv
git ls-files -s|git ls-tree -r HEAD|git blame -L 1,2 src/a.py|git rev-parse HEAD|git stash list
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.fixture
def place(project: Path, sealed: Path) -> Path:
    for name in ("customers/list.csv", "src/a.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("x\n")
    (project / "src" / "deep").mkdir()
    (project / "deep").symlink_to("src/deep")
    (project / "link").symlink_to("customers")
    (project / "file-link").symlink_to("customers/list.csv")
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "policy.md").write_text(RULES)
    return project


def said(place: Path, harness: str, tool: str, given: dict[str, Any]) -> tuple[str, str]:
    given = json.loads(
        json.dumps(given).replace("ABOVE", str(place.parent)).replace("TOP", str(place)).replace("NAME", place.name)
    )
    told = HarnessEvent(harness, "pre_tool_use", "PreToolUse", tool=tool, given=given, session="s", cwd=str(place))
    answer = answer_tool_call(told)
    return answer.verdict, answer.reason


def is_kept(answer: tuple[str, str]) -> bool:
    """True for a no by the rule of the scene."""
    return answer[0] == "deny" and "user.customers" in answer[1]


@pytest.mark.parametrize("harness", SEARCHES)
def test_no_search_of_a_program_reaches_what_is_not_read(place: Path, harness: str) -> None:
    assert not [case for case in SEARCHES[harness] if not is_kept(said(place, harness, *case))]


# The texts are judged alike whoever sends them: all of them from one program, and a few from each.
@pytest.mark.parametrize(
    ("harness", "texts"),
    [
        ("claude-code", TEXTS),
        *((harness, TEXTS[::9]) for harness in SHELL if harness != "claude-code"),
        *(pytest.param(harness, TEXTS, marks=pytest.mark.slow) for harness in SHELL if harness != "claude-code"),
    ],
)
def test_no_shell_of_a_program_reaches_what_is_not_read(place: Path, harness: str, texts: list[str]) -> None:
    assert not [text for text in texts if not is_kept(said(place, harness, SHELL[harness], {"command": text}))]


@pytest.mark.parametrize("harness", ["codex", pytest.param("claude-code", marks=pytest.mark.slow)])
def test_git_shows_nothing_of_what_is_not_read(place: Path, harness: str) -> None:
    assert not [text for text in SHOWN if not is_kept(said(place, harness, "Bash", {"command": text}))]
    assert not [text for text in UNSHOWN if is_kept(said(place, harness, "Bash", {"command": text}))]


def test_what_lies_beside_it_is_read_and_searched_as_before(place: Path) -> None:
    assert said(place, "claude-code", "Grep", {"pattern": "x", "path": "src"})[0] == ""
    assert said(place, "claude-code", "Glob", {"pattern": "**/*.py"})[0] == ""
    for text in ("grep -r customers src", "cat src/a.py", "ls", "git log -1", "git diff --stat", "git status"):
        assert said(place, "codex", "Bash", {"command": text})[0] == "allow", text


@pytest.mark.parametrize("harness", ["claude-code", pytest.param("codex", marks=pytest.mark.slow)])
def test_what_shows_names_alone_is_judged_alike_with_and_without_the_folder(place: Path, harness: str) -> None:
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "all")
    texts = ["ls", "ls .", "ls ./", "ls -la src/..", "git status", "git status .", "git ls-files .", "git log .",
             "git diff --stat .", "git add .", "git add -A", "git add :/", "git add -u", "git add src"]  # fmt: skip

    answers = {text: said(place, harness, "Bash", {"command": text}) for text in texts}

    assert {text: answer for text, answer in answers.items() if answer[0] != "allow"} == {}


@pytest.mark.parametrize("is_new", few_fast([False, True]), ids=["changed", "new"])
def test_a_file_that_is_not_read_is_not_taken_into_the_index_or_a_commit(place: Path, is_new: bool) -> None:
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "all")
    (place / "customers" / ("new.csv" if is_new else "list.csv")).write_text("private\n")

    taking = ["git add .", "git add -A", "git add --all", "git add :/", "git add ./src/..", "git -C src add -A"]
    taking += [f"git --git-dir={place}/.git --work-tree={place} -C .. add -A", "git add --al", "git add -A -- ."]
    taking += (
        ["git add -f ."]
        if is_new
        else [
            "git add -u",
            "git commit -am x",
            "git commit -m x .",
            "git commit -a",
            "git commit -mC .",
            "git commit -qm x ./",
            "git commit -o . -m x",
        ]
    )
    leaving = ["git add src", "git add", "git commit -m x", "git commit -qm x", "git status", "ls ."]

    def judge(text: str) -> tuple[str, str]:
        return said(place, "codex", "Bash", {"command": text})

    assert not [text for text in taking if not is_kept(judge(text))]
    assert not [text for text in leaving if is_kept(judge(text))]
    run_git(place, "add", "-A")
    assert is_kept(judge("git commit -m x"))


def test_an_ignored_file_that_is_not_read_is_taken_by_force_alone(place: Path) -> None:
    (place / ".gitignore").write_text("customers/\n")

    answers = [is_kept(said(place, "codex", "Bash", {"command": text})) for text in ("git add .", "git add -f .")]

    assert answers == [False, True]


def test_a_command_of_a_run_does_not_take_it_in_either(place: Path, nexus: Nexus) -> None:
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "all")
    (place / "customers" / "list.csv").write_text("private\n")

    done = nexus("tool", "cmd.run", json.dumps({"argv": ["git", "add", "-A"]}))

    assert (done.returncode, "user.customers" in done.stdout) == (20, True), done


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
            told = call_run_tool(desk, "propose_command", {"argv": argv})
            assert (told["status"], told["rule"]) == ("denied", "user.customers"), argv
    done = nexus("tool", "cmd.run", json.dumps({"argv": ["grep", "-r", "x", "customers"]}))
    assert (done.returncode, "user.customers" in done.stdout) == (20, True), done


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
def test_a_path_of_a_user_that_is_not_there_is_judged_and_breaks_nothing(place: Path, harness: str) -> None:
    tool = {"claude-code": "Bash", "codex": "shell"}[harness]
    verdict, why = said(place, harness, tool, {"command": "cat ~nobody-of-this-name/x customers/list.csv"})

    assert verdict == "deny", why
    assert "E_BUG" not in why
