"""An agent's program carries out a plan: one step at a time, told what did not hold, in its session."""

import json
import os
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.conftest import Nexus, run_git, trust
from tests.runs.live import events

# Stands in for Claude Code: does what the numbered line of its play says, once for each time that it is started.
FAKE = """\
#!{python}
import json, os, subprocess, sys
home = os.environ["HOME"]
told = sys.stdin.read()
log = os.path.join(home, "asked.jsonl")
before = len(open(log).readlines()) if os.path.exists(log) else 0
with open(log, "a") as file:
    file.write(json.dumps([sys.argv[1:], told]) + chr(10))
play = json.loads({play!r})
if isinstance(play, dict):  # by node
    play = play[os.path.basename(os.path.dirname(home)).partition(".")[2]]
turn = play[min(before, len(play) - 1)]
for name, text in turn.get("write", {{}}).items():
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True); open(name, "w").write(text)
for tool, given in turn.get("call", []):
    servers = next(word for word in sys.argv if word.startswith("--mcp-config=")).partition("=")[2]
    server = json.load(open(servers))["mcpServers"]["nexus"]
    hello = {{"protocolVersion": "2025-06-18", "capabilities": {{}}, "clientInfo": {{"name": "t", "version": "1"}}}}
    pipe = subprocess.PIPE
    child = subprocess.Popen([server["command"], *server["args"]], stdin=pipe, stdout=pipe, text=True)
    def ask(number, method, params):
        child.stdin.write(json.dumps({{"jsonrpc": "2.0", "id": number, "method": method, "params": params}}) + chr(10))
        child.stdin.flush()
        while line := child.stdout.readline():
            found = json.loads(line)
            if found.get("id") == number:
                return found
    ask(1, "initialize", hello)
    child.stdin.write(json.dumps({{"jsonrpc": "2.0", "method": "notifications/initialized"}}) + chr(10))
    print(json.dumps(ask(2, "tools/call", {{"name": tool, "arguments": given}})), file=sys.stderr)
    child.stdin.close()
    child.wait()
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": turn.get("say", "Done."),
                  "num_turns": 1, "session_id": "s-%d" % before, "usage": {{"input_tokens": 5, "output_tokens": 2}}}}))
"""
PROOF = "grep -q '^total = 2$' code.txt"
STALE = "--- a/code.txt\n+++ b/code.txt\n@@ -1 +1 @@\n-sum = 1\n+sum = 2\n"


@pytest.fixture
def play(nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one file, the place of a claude, and a policy that lets its proof run."""
    program = sealed / ".local" / "bin" / "claude"
    program.parent.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (project / "code.txt").write_text("total = 1\n")
    plan(project, ("Correct the total", ("code.txt",), PROOF))
    allow(project, "grep")
    return program


def plan(project: Path, *steps: tuple[str, tuple[str, ...], str]) -> None:
    """Write a list of steps, each with its files and the command that proves it."""
    rows = [f"- [ ] {title} in {', '.join(f'`{file}`' for file in files)}\n\n  ```sh\n  {proof}\n  ```\n"
            for title, files, proof in steps]  # fmt: skip
    (project / "TODO.md").write_text("# To do\n\n" + "\n".join(rows))
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "what to do")


def allow(project: Path, *programs: str) -> None:
    rules = "".join(f'  - run: ["{name}", "**"]\n' for name in programs)
    (project / ".nexus" / "policy.md").write_text(f"---\nversion: 1\nallow:\n{rules}---\n")
    trust(project)


def started(nexus: Nexus, program: Path, *turns: dict[str, Any]) -> dict[str, Any]:
    program.write_text(FAKE.format(python=sys.executable, play=json.dumps(turns)))
    program.chmod(0o755)
    done = nexus("run", "/plan-exec the steps in TODO.md", "--give", "exec=claude", "--yes", "--json")
    assert done.returncode in (0, 21), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def asked(sealed: Path, run: str) -> list[tuple[list[str], str]]:
    """Return how the program was started, time after time, and what it was told."""
    (log,) = sealed.glob(f"nexus/private/{run}.exec/home/asked.jsonl")
    return [(argv, told) for argv, told in map(json.loads, log.read_text().splitlines())]


def test_wrong_form_no_fit_failed_test_and_right_are_one_card_one_yes_and_four_attempts(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    told = started(
        nexus, play,
        {"say": '{"blocked": {"kind": "tired", "question": "why?"}}'},
        {"call": [["propose_patch", {"patch": STALE}]]},
        {"write": {"code.txt": "total = 3\n"}},
        {"write": {"code.txt": "total = 2\n"}},
    )  # fmt: skip
    run = told["run"]["id"]
    done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))
    turns = asked(sealed, run)

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert done["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "total = 2\n"
    assert len(turns) == 4
    assert [word for argv, _ in turns for word in argv if word.startswith("--resume")] == [
        "--resume=s-0", "--resume=s-1", "--resume=s-2",
    ]  # fmt: skip
    assert "S1, Correct the total" in turns[0][1]
    assert "kind" in turns[1][1]
    assert "does not fit" in turns[2][1] or "does not apply" in turns[2][1]
    assert "fails with status 1" in turns[3][1]
    row = next(one for one in json.loads(nexus.ok("metrics", "--json"))["metrics"] if one["adapter"] == "claude")
    assert (row["steps"], row["retries"]) == (1, 3)  # four attempts
    assert (row["schema"]["invalid"], row["patches"]["failed"], row["patches"]["applied"]) == (1, 1, 1)
    assert nexus("replay", run, "--verify").returncode == 0


TWO = (
    ("Correct the total", ("code.txt",), PROOF),
    ("Say what it is", ("more.txt",), "grep -q two more.txt"),
)


def test_each_step_is_told_by_itself_begins_a_session_and_is_its_own_patch(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    plan(project, *TWO)
    told = started(nexus, play, {"write": {"code.txt": "total = 2\n"}}, {"write": {"more.txt": "two\n"}})
    run = told["run"]["id"]
    first = json.loads(nexus("approve", "--unseen", "--wait", run, "--json").stdout)
    second = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))
    (_, one), (argv, other) = asked(sealed, run)

    assert [len(found["actions"]) for found in (told, first, second)] == [1, 2, 2]
    assert second["run"]["status"] == "completed"
    assert run_git(project, "log", "--format=%s", f"main..nexus/{run}").count("\n") == 2
    assert [found["summary"].partition(" in ")[0] for found in second["actions"]] == [
        "S1: Correct the total", "S2: Say what it is",
    ]  # fmt: skip
    assert "S1, Correct the total" in one
    assert "Must succeed afterwards: grep -q '^total = 2$' code.txt" in one
    assert "Not yours, others come after you: S2 Say what it is" in one
    assert "Must succeed afterwards: grep -q two more.txt" not in one
    assert "Done already: S1 Correct the total" in other
    assert not [word for word in argv if word.startswith("--resume")]
    steps = [(row["step"], row["ok"]) for row in events(project, run, "step.finished")]
    assert steps == [("S1", True), ("S2", True)]
    assert nexus("replay", run, "--verify").returncode == 0


def test_a_no_with_a_reason_goes_back_to_the_program_and_one_without_ends_what_depends_on_it(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    plan(project, *TWO)
    told = started(nexus, play, {"write": {"code.txt": "total = 2\n# two\n"}}, {"write": {"code.txt": "total = 2\n"}})
    run = told["run"]["id"]
    again = json.loads(nexus("deny", run, "a1", "--reason", "without the comment", "--wait", "--json").stdout)
    ended = json.loads(nexus("deny", run, "a2", "--wait", "--json").stdout)

    assert [(one["id"], one["status"]) for one in again["actions"]] == [("a1", "denied"), ("a2", "waiting")]
    argv, words = asked(sealed, run)[1]
    assert "a1 denied: without the comment" in words
    assert "--resume=s-0" in argv
    assert ended["run"]["status"] == "failed"
    assert len(asked(sealed, run)) == 2  # S2 never began
    assert run_git(project, "log", "--format=%s", f"main..nexus/{run}") == ""
    assert nexus("replay", run, "--verify").returncode == 0


def test_what_the_policy_asks_about_in_a_proof_is_one_question_with_the_patch(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    (project / ".nexus" / "policy.md").write_text("---\nversion: 1\n---\n")
    trust(project)
    told = started(nexus, play, {"write": {"code.txt": "total = 3\n"}}, {"write": {"code.txt": "total = 2\n"}})
    run = told["run"]["id"]
    card = nexus("review", run).stdout
    worse = json.loads(nexus("approve", "--unseen", "--wait", run, "--json").stdout)
    done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert "grep -q [^total = 2$] code.txt, in the sandbox, to prove it" in card
    kinds = [(one["kind"], one["status"]) for one in worse["actions"]]
    assert kinds == [("patch", "executed"), ("command", "executed"), ("patch", "waiting")]  # it failed, and was told so
    assert "a2, a command, failed" in asked(sealed, run)[1][1]
    assert done["run"]["status"] == "completed"
    granted = {row["action"]: row["by"] for row in events(project, run, "permission.granted")}
    assert granted["a2"] == granted["a1"] != "policy"
    assert nexus("replay", run, "--verify").returncode == 0


def test_a_program_says_by_a_tool_that_it_is_blocked_and_goes_on_once_it_was_answered(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    stuck = {"kind": "needs_user_input", "question": "two or three?"}
    told = started(nexus, play, {"call": [["blocked", stuck]]}, {"write": {"code.txt": "total = 2\n"}})
    run = told["run"]["id"]
    asks = [one["text"] for one in told["questions"]]
    after = json.loads(nexus("answer", run, "two", "--wait", "--json").stdout)

    assert asks == ["two or three?"]
    assert [(one["kind"], one["status"]) for one in after["actions"]] == [("patch", "waiting")]
    argv, words = asked(sealed, run)[1]
    assert "You asked: two or three?\nThe answer: two" in words
    assert "--resume=s-0" in argv
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_a_question_by_the_tool_ask_that_is_open_at_the_end_blocks_the_step_until_it_is_answered(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    told = started(nexus, play, {"call": [["ask", {"question": "two?"}]]}, {"write": {"code.txt": "total = 2\n"}})
    run = told["run"]["id"]
    after = json.loads(nexus("answer", run, "yes", "--wait", "--json").stdout)

    assert [one["text"] for one in told["questions"]] == ["two?"]
    assert [(one["kind"], one["status"]) for one in after["actions"]] == [("patch", "waiting")]
    assert "The answer: yes" in asked(sealed, run)[1][1]
    nexus.ok("approve", "--unseen", "--wait", run)
    assert nexus("replay", run, "--verify").returncode == 0


def test_a_step_that_changes_more_than_it_may_goes_back_and_comes_to_no_card(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    home = Path(os.environ["NEXUS_HOME"]) / "settings.json"
    home.write_text(json.dumps({"workflow": {"budgets": {"maxStepFiles": 1, "maxStepLines": 3}}}))
    much = {"code.txt": "total = 2\n", "other.txt": "a\nb\nc\n"}
    told = started(nexus, play, {"write": much}, {"write": {"code.txt": "total = 2\n"}})
    run = told["run"]["id"]
    (_, first), (_, second) = asked(sealed, run)[:2]

    assert "Change at most 1 files and 3 lines." in first
    assert "it changes more than one step may: 2 files of 1 and 5 lines of 3" in second
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_a_step_that_is_too_big_is_split_before_a_program_is_started_for_it(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    diff = "".join(f"--- /dev/null\n+++ b/d{at}/f.txt\n@@ -0,0 +1 @@\n+x\n" for at in range(9))
    row = f"- [ ] Make all of it\n\n```diff\n{diff}```\n\n```sh\nls d1/f.txt\n```\n"
    (project / "TODO.md").write_text("# To do\n\n" + indent(row, "  ").removeprefix("  "))
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "what to do")
    allow(project, "ls")
    files = {f"d{at}/f.txt": "x\n" for at in range(9)}
    told = started(nexus, play, {"write": files})
    run = told["run"]["id"]
    split = json.loads(nexus("approve", "--unseen", "--wait", run, "--json").stdout)
    handed = not list(sealed.glob(f"nexus/private/{run}.exec/home/asked.jsonl"))
    nexus("approve", "--unseen", "--wait", run)
    (_, first), *_ = asked(sealed, run)

    assert [one["kind"] for one in told["actions"]] == ["handoff"]
    assert [one["kind"] for one in split["actions"]] == ["handoff", "plan_patch"]
    assert handed  # nobody was started yet
    assert "S1.1, Make all of it" in first
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_a_handoff_goes_to_who_is_set_for_that_role_though_the_workflow_has_no_node_of_it(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    home = Path(os.environ["NEXUS_HOME"]) / "settings.json"
    home.write_text(json.dumps({"workflow": {"specialists": {"executor": "claude", "planner": "claude"}}}))
    stuck = {"kind": "needs_plan_patch", "question": "in which order?"}
    step = {"id": "S1", "title": "the total", "files": ["code.txt"], "commands": [["grep", "-q", "= 2", "code.txt"]]}
    plays = {
        "": [{"call": [["blocked", stuck]]}, {"write": {"code.txt": "total = 2\n"}}],
        "handoff-a1": [{"say": json.dumps({"goal": "g", "steps": [step]})}],
    }
    play.write_text(FAKE.format(python=sys.executable, play=json.dumps(plays)))
    play.chmod(0o755)
    told = json.loads(nexus("run", "/exec correct the total", "--yes", "--json").stdout)
    run = told["run"]["id"]
    planned = json.loads(nexus("approve", "--unseen", "--wait", run, "--json").stdout)
    handed = json.loads(nexus("approve", "--unseen", "--wait", run, "--json").stdout)
    done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("handoff", "waiting")]
    assert [one["kind"] for one in planned["actions"]] == ["handoff", "plan_patch"]
    assert [one["kind"] for one in handed["actions"]] == ["handoff", "plan_patch", "patch"]
    who = [(row["node"], row["adapter"]) for row in events(project, run, "node.started")]
    assert ("handoff-a1", "claude") in who
    assert done["run"]["status"] == "completed"
    assert [row["step"] for row in events(project, run, "step.finished")] == ["S1"]
    assert nexus("replay", run, "--verify").returncode == 0


def test_an_agent_without_a_workflow_is_told_why_its_patch_was_denied_and_tries_again(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    plays = {"": [{"write": {"code.txt": "total = 2\n# two\n"}}, {"write": {"code.txt": "total = 2\n"}}]}
    play.write_text(FAKE.format(python=sys.executable, play=json.dumps(plays)))
    play.chmod(0o755)
    run = json.loads(nexus("run", "--agent", "claude", "correct the total", "--json").stdout)["run"]["id"]
    again = json.loads(nexus("deny", run, "a1", "--reason", "without the comment", "--wait", "--json").stdout)
    done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))
    (log,) = sealed.glob(f"nexus/private/{run}/home/asked.jsonl")
    argv, words = json.loads(log.read_text().splitlines()[1])

    assert [(one["id"], one["status"]) for one in again["actions"]] == [("a1", "denied"), ("a2", "waiting")]
    assert "a1 (correct the total) is denied: without the comment" in words
    assert "--resume=s-0" in argv
    assert done["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "total = 2\n"
    assert nexus("replay", run, "--verify").returncode == 0


# Stands in for a Codex that is not signed in; once it is told so, by a file, it is.
SIGNED_OUT = """\
#!/bin/sh
case "$*" in *--version*) echo codex 1.0.0; exit;; esac
cat > /dev/null
echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: please log in"}}'
exit 1
"""


def test_the_next_program_of_the_list_takes_over_a_plan_when_one_is_down_and_is_told_what_did_not_hold(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    home = Path(os.environ["NEXUS_HOME"]) / "settings.json"
    home.write_text(json.dumps({"workflow": {"specialists": {"executor": ["codex", "claude"]}}}))
    codex = play.with_name("codex")
    codex.write_text(SIGNED_OUT)
    codex.chmod(0o755)
    plan(project, *TWO)
    turns = [{"write": {"code.txt": "total = 3\n"}}, {"write": {"code.txt": "total = 2\n"}},
             {"write": {"more.txt": "two\n"}}]  # fmt: skip
    play.write_text(FAKE.format(python=sys.executable, play=json.dumps(turns)))
    play.chmod(0o755)
    told = nexus("run", "/plan-exec the steps in TODO.md", "--yes", "--json")
    run = json.loads(told.stdout)["run"]["id"]
    nexus("approve", "--unseen", "--wait", run)
    done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))
    turns_of_claude = asked(sealed, run)

    assert done["run"]["status"] == "completed", told.stderr
    assert "so claude takes over" in told.stderr
    assert [any(word.startswith("--resume") for word in argv) for argv, _ in turns_of_claude] == [False, True, False]
    rows = {row["adapter"]: row for row in json.loads(nexus.ok("metrics", "--json"))["metrics"]}
    assert rows["claude"]["patches"]["applied"] == 2
    assert rows["codex"]["patches"]["applied"] == 0
    assert nexus("replay", run, "--verify").returncode == 0


def chain_that_goes_on(nexus: Nexus, project: Path, play: Path, first: str) -> str:
    """Start a plan of three steps, the second after the first, in a workflow that no denied or failed step stops."""
    steps = [
        {"id": "S1", "title": "one", "files": ["code.txt"], "commands": [["grep", "-q", "= 2", "code.txt"]]},
        {"id": "S2", "title": "two", "files": ["two.txt"], "depends": ["S1"]},
        {"id": "S3", "title": "three", "files": ["three.txt"]},
    ]
    plays = {
        "plan": [{"say": json.dumps({"goal": "g", "steps": steps})}],
        "exec": [{"write": {"code.txt": first}}, {"write": {"three.txt": "3\n"}}, {"write": {"two.txt": "2\n"}}],
    }
    play.write_text(FAKE.format(python=sys.executable, play=json.dumps(plays)))
    play.chmod(0o755)
    made = json.loads(nexus.ok("route", "/plan-exec three things", "--json"))["workflow"]
    for node in made["nodes"]:
        node |= {"adapter": "claude", "budget": {"retries": 0}}
    (project / "flow.json").write_text(json.dumps({**made, "stop": ["blocked"]}))
    done = nexus("run", "--workflow", "flow.json", "--yes", "--json")
    assert done.returncode in (1, 21), done.stderr
    return str(json.loads(done.stdout)["run"]["id"])


def test_a_denied_step_never_lets_what_depends_on_it_run(nexus: Nexus, project: Path, sealed: Path, play: Path) -> None:
    run = chain_that_goes_on(nexus, project, play, "total = 2\n")
    nexus("deny", run, "a1", "--wait")
    nexus("approve", "--unseen", "--wait", run)
    shown = json.loads(nexus("review", run, "--json").stdout)["runs"][0]

    told = [words.partition("files of this folder: ")[2].partition(",")[0] for _, words in asked(sealed, run)]
    assert told == ["S1", "S3"]
    assert [(one["summary"], one["status"]) for one in shown["actions"]] == [
        ("S1: one", "denied"), ("S3: three", "executed"),
    ]  # fmt: skip
    assert shown["run"]["status"] == "failed"
    assert nexus("replay", run, "--verify").returncode == 0


def test_a_failed_step_never_lets_what_depends_on_it_run(nexus: Nexus, project: Path, sealed: Path, play: Path) -> None:
    run = chain_that_goes_on(nexus, project, play, "total = 3\n")
    asks = json.loads(nexus("review", run, "--json").stdout)["runs"][0]

    assert [words.count("S1, one") for _, words in asked(sealed, run)] == [1]
    assert asks["questions"][0]["text"].startswith("no valid result for S1 after 1 tries")
    assert asks["actions"] == []


def test_a_patch_that_a_program_proposes_by_a_tool_is_proved_before_anybody_is_asked(
    nexus: Nexus, project: Path, sealed: Path, play: Path
) -> None:
    wrong, right = (f"--- a/code.txt\n+++ b/code.txt\n@@ -1 +1 @@\n-total = 1\n+total = {at}\n" for at in (3, 2))
    (project / ".nexus" / "policy.md").write_text(
        '---\nversion: 1\nway: proposer\nallow:\n  - run: ["grep", "**"]\n---\n'
    )
    trust(project)
    told = started(nexus, play, {"call": [["propose_patch", {"patch": wrong}], ["propose_patch", {"patch": right}]]})
    run = told["run"]["id"]
    done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))
    refused = [row["why"] for row in events(project, run, "action.rejected")]

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert [why.startswith("with this change grep") for why in refused] == [True]
    assert len(asked(sealed, run)) == 1
    assert done["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "total = 2\n"
    assert nexus("replay", run, "--verify").returncode == 0
