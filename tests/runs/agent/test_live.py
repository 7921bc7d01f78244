"""Live approvals, with a program of ours that speaks Claude Code's wire: what is asked, answered, done and kept."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git
from tests.runs.live import listed, typed

# Asks about each call of a list, does what it is allowed, and tells what it heard.
FAKE = """\
#!{python}
import json, os, subprocess, sys
calls = json.load(open({calls!r}))
def say(value):
    print(json.dumps(value), flush=True)
if "--version" in sys.argv:
    print("2.1.0")
    sys.exit()
for line in sys.stdin:
    if json.loads(line)["type"] == "user":
        break
heard = []
for at, (tool, given) in enumerate(calls):
    if tool == "Torn":
        print(given["text"], flush=True)
        continue
    say({{"type": "control_request", "request_id": f"r{{at}}",
         "request": {{"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": f"t{{at}}"}}}})
    answer = json.loads(sys.stdin.readline())["response"]["response"]
    heard.append(answer)
    ok = answer["behavior"] == "allow"
    if ok and tool == "Write":
        open(given["file_path"], "w").write(given["content"])
    if ok and tool == "Edit":
        text = open(given["file_path"]).read()
        open(given["file_path"], "w").write(text.replace(given["old_string"], given["new_string"]))
    if ok and tool == "Bash":
        subprocess.run(["sh", "-c", given["command"]])
    result = {{"type": "tool_result", "tool_use_id": f"t{{at}}", "content": "told", "is_error": not ok}}
    say({{"type": "user", "message": {{"role": "user", "content": [result]}}}})
say({{"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(heard), "num_turns": 1}})
sys.stdin.read()
"""


@pytest.fixture
def home(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = sealed / ".local" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return sealed


def agent(home: Path, *calls: tuple[str, dict[str, str]], wait: int = 1) -> None:
    """Install the program with what it will ask."""
    program = home / ".local" / "bin" / "claude"
    listed = home / ".local" / "bin" / "calls.json"
    listed.write_text(json.dumps(calls))
    program.write_text(FAKE.format(python=os.path.realpath(sys.executable), calls=str(listed)))
    program.chmod(0o755)
    config = home / ".gitconfig"
    text = config.read_text().partition("[nexus]")[0]
    config.write_text(f"{text}[nexus]\n\tapprovalWait = {wait}\n\ttoolPath = {folder_of(program)}\n")


def folder_of(program: Path) -> str:
    return str(program.parent)


def ran(nexus: Nexus, *options: str) -> dict[str, Any]:
    done = nexus("run", "Do it", "--agent", "claude", "--json", *(options or ("--live",)))
    assert done.stdout.startswith("{"), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def heard(nexus: Nexus, run: str) -> list[dict[str, Any]]:
    """Return the answers that the program got."""
    lines = [json.loads(line) for line in nexus.ok("replay", run, "--json").splitlines()]
    text = json.dumps(lines)
    for name in (nexus.place / ".git" / "nexus" / "runs" / run / "artifacts").iterdir():
        for line in name.read_text(errors="replace").splitlines():
            if '"num_turns"' in line and line.startswith("{"):
                found: list[dict[str, Any]] = json.loads(json.loads(line)["result"])
                return found
    raise AssertionError(text)


def rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["kind"], one["status"]) for one in found["actions"]]


def test_what_the_policy_allows_is_done_at_once_and_a_write_is_a_commit(
    nexus: Nexus, project: Path, home: Path
) -> None:
    (home / "nexus" / "policy.md").write_text(
        '---\nversion: 1\napproval: per-action\nallow:\n  - write: ["*.txt"]\n---\n'
    )
    agent(home, ("Edit", {"file_path": "readme.txt", "old_string": "hello", "new_string": "hello world"}))

    found = ran(nexus, "--title", "t")
    run = found["run"]["id"]

    assert rows(found) == [("patch", "executed")]
    assert found["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:readme.txt") == "hello world\n"
    assert Path(found["run"]["worktree"], "readme.txt").read_text() == "hello world\n"
    assert heard(nexus, run)[0]["behavior"] == "allow"
    proved = json.loads(nexus.ok("verify", f"main..nexus/{run}", "--require-approval", "--json"))
    assert [row["status"] for row in proved["commits"]] == ["approved"]


def test_an_edit_keeps_the_line_ends_and_bytes_of_the_file(nexus: Nexus, project: Path, home: Path) -> None:
    (project / "old.txt").write_bytes(b"one\r\ntwo\r\n\xe4\r\n")
    run_git(project, "add", "old.txt")
    run_git(project, "commit", "-q", "-m", "old")
    (home / "nexus" / "policy.md").write_text(
        '---\nversion: 1\napproval: per-action\nallow:\n  - write: ["*.txt"]\n---\n'
    )
    agent(home, ("Edit", {"file_path": "old.txt", "old_string": "one\ntwo", "new_string": "1\n2"}))

    found = ran(nexus, "--title", "t")

    assert rows(found) == [("patch", "executed")]
    assert Path(found["run"]["worktree"], "old.txt").read_bytes() == b"1\r\n2\r\n\xe4\r\n"


def test_what_a_rule_denies_is_not_done_also_within_a_text_for_a_shell(nexus: Nexus, project: Path, home: Path) -> None:
    (home / "nexus" / "policy.md").write_text('---\nversion: 1\ndeny:\n  - run: ["touch", "**"]\n---\n')
    agent(home, ("Bash", {"command": "cd . && (true; touch made.txt)"}))

    found = ran(nexus)

    assert rows(found) == [("command", "denied")]
    assert not Path(found["run"]["worktree"], "made.txt").exists()
    told = heard(nexus, found["run"]["id"])[0]
    assert told["behavior"] == "deny"
    assert "user.deny.1" in told["message"]


def test_what_cannot_be_judged_is_refused_with_the_reason(nexus: Nexus, project: Path, home: Path) -> None:
    calls: list[tuple[str, dict[str, str], str]] = [
        ("Write", {"file_path": "/etc/x", "content": "x"}, "not a file of the worktree"),
        ("Write", {"file_path": "../x", "content": "x"}, "not a file of the worktree"),
        ("Write", {"file_path": "a\0b", "content": "x"}, "not a file of the worktree"),
        ("Write", {"file_path": ".git", "content": "x"}, "refused"),
        ("Write", {"file_path": "x.txt", "content": "\ud800"}, "surrogate"),
        ("Edit", {"file_path": "readme.txt", "old_string": "absent", "new_string": "x"}, "nowhere"),
        ("Edit", {"file_path": "readme.txt", "old_string": "l", "new_string": "x"}, "more than once"),
        ("Bash", {"command": "echo \0"}, "NUL"),
        ("WebFetch", {"url": "https://example.org"}, "does not have this tool"),
        ("Invented", {}, "does not have this tool"),
        ("mcp__other__write", {}, "does not have this tool"),
        ("NotebookEdit", {"notebook_path": "readme.txt"}, "does not say"),
    ]
    agent(home, *((tool, given) for tool, given, _ in calls))

    found = ran(nexus)
    answers = heard(nexus, found["run"]["id"])

    assert rows(found) == []
    for (tool, given, words), answer in zip(calls, answers, strict=True):
        assert (answer["behavior"], words in answer["message"]) == ("deny", True), (tool, given, answer)


def test_looking_needs_nobody_and_secrets_are_not_read(nexus: Nexus, project: Path, home: Path) -> None:
    reads = [("Read", {"file_path": "readme.txt"}), ("Read", {"file_path": ".env"}), ("TodoWrite", {}),
             ("mcp__nexus__ask", {})]  # fmt: skip
    agent(home, *reads)

    found = ran(nexus)

    assert rows(found) == []
    assert [one["behavior"] for one in heard(nexus, found["run"]["id"])] == ["allow", "deny", "allow", "allow"]


def test_nobody_answers_and_the_command_is_run_by_whoever_approves_it_later(
    nexus: Nexus, project: Path, home: Path
) -> None:
    agent(home, ("Bash", {"command": "echo ran > ran.txt"}))

    found = ran(nexus)
    run, worktree = found["run"]["id"], Path(found["run"]["worktree"])
    before = (worktree / "ran.txt").exists()
    nexus.ok("approve", "--unseen", run)

    assert rows(found) == [("command", "waiting")]
    assert "nobody has answered yet" in heard(nexus, run)[0]["message"]
    assert not before
    assert (worktree / "ran.txt").read_text() == "ran\n"


@pytest.mark.slow
def test_somebody_answers_in_another_terminal_and_each_is_done_once(nexus: Nexus, project: Path, home: Path) -> None:
    agent(home, ("Write", {"file_path": "new.txt", "content": "new\n"}), ("Bash", {"command": "echo ran >> ran.txt"}),
          ("Bash", {"command": "echo again >> ran.txt"}), wait=60)  # fmt: skip
    child = subprocess.Popen(
        ["git", "nexus", "run", "Do it", "--agent", "claude", "--live", "--json"],
        cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for action, said in (("a1", "approve"), ("a2", "approve"), ("a3", "deny")):
        run = _waiting(nexus, child, action)
        nexus.ok(said, run, action, *(("--unseen",) if said == "approve" else ()))
    found = json.loads(child.communicate(timeout=60)[0])
    worktree = Path(found["run"]["worktree"])

    assert rows(found) == [("patch", "executed"), ("command", "executed"), ("command", "denied"), ("patch", "waiting")]
    assert (worktree / "ran.txt").read_text() == "ran\n"
    nexus.ok("approve", "--unseen", run)
    assert (worktree / "ran.txt").read_text() == "ran\n"
    assert json.loads(nexus.ok("replay", run, "--verify", "--json").splitlines()[-1])
    assert not list((project / ".git" / "nexus" / "runs" / run).glob("asking-*"))


def _waiting(nexus: Nexus, child: "subprocess.Popen[Any]", action: str) -> str:
    until = time.monotonic() + 50
    while time.monotonic() < until and child.poll() is None:
        for row in json.loads(nexus("review", "--json").stdout).get("runs", []):
            if any(one["id"] == action and one["status"] == "waiting" for one in row["actions"]):
                return str(row["run"]["id"])
        time.sleep(0.1)
    raise AssertionError(f"{action} was never asked about: {child.communicate(timeout=60)}")


def test_lines_that_are_torn_or_nonsense_do_not_end_the_conversation(nexus: Nexus, project: Path, home: Path) -> None:
    torn = [("Torn", {"text": '{"type":"control_request","request_id":'}), ("Torn", {"text": "\x1b[2J nonsense"})]
    agent(home, *torn, ("Read", {"file_path": "readme.txt"}))

    found = ran(nexus)

    assert found["run"]["status"] == "completed"
    assert [one["behavior"] for one in heard(nexus, found["run"]["id"])] == ["allow"]


def test_agents_that_cannot_be_asked_are_refused(nexus: Nexus, project: Path, home: Path) -> None:
    flag = nexus("run", "--live", "--", "true")
    (home / "nexus" / "policy.md").write_text("---\nversion: 1\napproval: per-action\n---\n")
    named = nexus("run", "--json", "--", "true")
    aider = home / ".local" / "bin" / "aider"
    aider.write_text("#!/bin/sh\necho 0.86.2\n")
    aider.chmod(0o755)
    other = nexus("run", "x", "--agent", "aider")

    assert (flag.returncode, named.returncode, other.returncode) == (6, 0, 6)
    assert "cannot be asked before each action" in flag.stderr + other.stderr


def test_at_a_terminal_each_call_has_its_card_while_the_program_waits(nexus: Nexus, project: Path, home: Path) -> None:
    agent(home, ("Write", {"file_path": "new.txt", "content": "new\n"}), ("Bash", {"command": "echo ran > ran.txt"}))

    _, shown = typed(project, "y\nd\nnot this way\ny", "git-nexus", "run", "Do it", "--agent", "claude", "--live")
    (run,) = listed(nexus)

    assert "+new" in shown
    assert "echo ran > ran.txt" in shown
    assert run_git(project, "show", f"nexus/{run}:new.txt") == "new\n"
    assert [one["behavior"] for one in heard(nexus, run)] == ["allow", "deny"]
    assert "not this way" in heard(nexus, run)[1]["message"]
    assert list((home / "nexus" / "worktrees").glob("*/*/ran.txt")) == []


def test_left_waiting_at_a_terminal_it_goes_on_without(nexus: Nexus, project: Path, home: Path) -> None:
    agent(home, ("Bash", {"command": "echo ran > ran.txt"}))

    typed(project, "q\nq", "git-nexus", "run", "Do it", "--agent", "claude", "--live")
    (run,) = listed(nexus)

    assert listed(nexus)[run]["status"] == "waiting"
    assert "nobody has answered yet" in heard(nexus, run)[0]["message"]


def test_killed_between_a_yes_and_the_writing_nothing_is_undone_at_the_end(
    nexus: Nexus, project: Path, home: Path
) -> None:
    agent(home, ("Write", {"file_path": "new.txt", "content": "new\n"}), wait=60)
    child = subprocess.Popen(
        ["git", "nexus", "run", "Do it", "--agent", "claude", "--live", "--json"],
        cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    run = _waiting(nexus, child, "a1")
    os.killpg(child.pid, signal.SIGSTOP)  # it holds its lock, and never hands the yes over
    nexus.ok("approve", "--unseen", run, "a1")
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    nexus("resume", run)
    view = json.loads(nexus("review", run, "--json").stdout)["runs"]

    assert run_git(project, "show", f"nexus/{run}:new.txt") == "new\n"
    (worktree,) = (home / "nexus" / "worktrees").glob(f"*/{run}")
    assert (worktree / "new.txt").read_text() == "new\n"
    assert [one["status"] for row in view for one in row["actions"]] == ["executed"]
