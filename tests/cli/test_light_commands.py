"""Hooks and plain commands load neither pydantic nor pygit2: importing them takes longer than the whole command."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import trust

HEAVY = ("pydantic", "pygit2", "mcp", "textual")
# One process that has imported nothing of ours but the table of commands; each command runs in a fork of it.
_SCRIPT = """
import json, os, sys
from gitnexus.main import main

for argv, text in json.loads(sys.argv[1]):
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    told = os.dup(1)
    read, write = os.pipe()
    os.write(write, text.encode())
    os.close(write)
    os.dup2(read, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["git-nexus", *argv]
    leave = os._exit

    def tell_and_leave(status):
        os.write(told, f"{[name for name in HEAVY if name in sys.modules]} ".encode())
        leave(status)

    os._exit = tell_and_leave  # hooks leave by it
    try:
        main()
    except SystemExit as exc:
        tell_and_leave(exc.code or 0)
    tell_and_leave(0)
"""


def harness_event(project: Path, event: str, name: str, **fields: object) -> tuple[list[str], str]:
    payload = {"session_id": "s", "cwd": str(project), "hook_event_name": name, "tool_use_id": "t1", **fields}
    return ["hook", "harness", "claude-code", event], json.dumps(payload)


def run_in_forks(project: Path, calls: list[tuple[list[str], str]], heavy: tuple[str, ...] = HEAVY) -> list[str]:
    code = f"HEAVY = {heavy!r}\n{_SCRIPT}"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-c", code, json.dumps(calls)]
    done = subprocess.run(argv, cwd=project, capture_output=True, text=True, check=True, env=env)
    return [f"{call[0]}: {line}" for call, line in zip(calls, done.stdout.splitlines(), strict=True)]


def test_plain_commands_load_no_heavy_library(project: Path) -> None:
    plain = (["init"], ["status"], ["log"], ["hooks", "status"], ["task", "add", "x"], ["task", "list"],
             ["task", "show", "T1"], ["agents"], ["plan", "start", "x", "which?"], ["plan", "show"],
             ["plan", "decide", "1", "y"], ["cycle", "show"], ["cycle", "close"], ["history"], ["tool"])  # fmt: skip

    told = run_in_forks(project, [(list(argv), "") for argv in plain])

    assert told == [f"{list(argv)}: [] 0" for argv in plain]


def test_hooks_of_an_agent_that_works_on_a_task_load_no_heavy_library(project: Path) -> None:
    run_in_forks(project, [(["tool", "task_add", '{"title": "t", "context": "c", "owner": "engineer"}'], "")])
    agent = {"agent_id": "a1", "agent_type": "engineer"}
    brief = {"description": "do", "prompt": "Do task 1.", "subagent_type": "engineer"}
    calls = [
        harness_event(project, "pre_tool_use", "PreToolUse", tool_name="Agent", tool_input=brief),
        harness_event(project, "subagent_spawn", "SubagentStart", **agent),
        harness_event(project, "subagent_complete", "SubagentStop", **agent),
    ]

    told = run_in_forks(project, calls)

    assert told == [f"{argv}: [] 0" for argv, _ in calls]
    (task,) = json.loads((project / ".nexus" / "state" / "tasks.json").read_text())["tasks"]
    assert task["status"] == "completed"


# Records that no call below reads, and why they are no documents.
_READ_ELSEWHERE = {
    "gitnexus.adapters.script": "the steps of a scripted agent, whose process is shorter than the import of pydantic",
    "gitnexus.catalog.manifest": "a catalog of the project's own, which its hooks read too",
    "gitnexus.projects.read_task": "a task of another project, for task show and task list",
}


@pytest.mark.slow
def test_what_no_hook_and_no_plain_command_reads_is_a_document_and_no_record(project: Path) -> None:
    records = _modules_with_records()
    plain = (["init"], ["status"], ["doctor"], ["task", "add", "x"], ["task", "add", "y"], ["task", "list"],
             ["task", "relate", "T1", "T2", "--type", "relates-to"], ["task", "delete", "T2"], ["agents"],
             ["memory", "list"], ["permissions"], ["runs"], ["run", "--", "true"], ["plan", "show"], ["history"],
             ["pack", "build", "file:readme.txt"], ["metrics"], ["clean"], ["verify", "HEAD"], ["agenda", "show"],
             ["land", "none"], ["sync"], ["harness", "list"], ["policy", "explain", "--", "ls"], ["approver", "list"],
             ["review"])  # fmt: skip
    told = run_in_forks(project, [(list(argv), "") for argv in plain], heavy=records)

    read = {name for line in told for name in ast.literal_eval(line[line.index("]: [") + 3 : line.rindex("]") + 1])}

    assert set(records) - read == set(_READ_ELSEWHERE)


def _modules_with_records() -> tuple[str, ...]:
    """Return the modules that define a record, by name."""
    root = Path(__file__).parents[2]
    bases = {"Record", "StoredRecord", "CatalogRecord", "CycleRecord"}
    return tuple(
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in sorted((root / "gitnexus").rglob("*.py"))
        if any(
            isinstance(node, ast.ClassDef) and bases & {ast.unparse(base) for base in node.bases}
            for node in ast.parse(path.read_text()).body
        )
        and path.name != "record.py"
    )


@pytest.mark.slow
def test_the_doctor_and_a_run_of_a_command_load_no_heavy_library(project: Path) -> None:
    calls = (["doctor"], ["run", "--", "true"], ["run", "--", "false"])

    told = run_in_forks(project, [(list(argv), "") for argv in calls])

    assert [line.rpartition(" ")[0] for line in told] == [f"{argv}: []" for argv in calls]


def test_hooks_load_no_heavy_library(project: Path) -> None:
    edit = {"file_path": "a.txt", "old_string": "a", "new_string": "b"}
    given: dict[str, object] = {"tool_name": "Edit", "tool_input": edit}
    calls = [
        harness_event(project, "session_start", "SessionStart", source="startup"),
        harness_event(project, "user_message", "UserPromptSubmit", prompt="look at the parser"),
        harness_event(project, "pre_tool_use", "PreToolUse", **given),
        harness_event(project, "post_tool_use", "PostToolUse", **given, tool_response={}),
        harness_event(project, "session_end", "SessionEnd", reason="other"),
        (["hook", "--full", "post-checkout", "0", "0", "1"], ""),
        (["hook", "--full", "pre-commit"], ""),
    ]

    told = run_in_forks(project, calls)

    assert told == [f"{argv}: [] 0" for argv, _ in calls]


def test_the_gate_starts_no_child_for_a_plain_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    policy = "---\nversion: 1\nallow:\n- run: [git, log, '**']\ndeny:\n- read: ['private/**']\n---\n"
    (project / ".nexus" / "policy.md").write_text(policy)
    trust(project)
    calls = [
        harness_event(project, "pre_tool_use", "PreToolUse", tool_name="Bash", tool_input={"command": f"git log -{at}"})
        for at in (1, 2)
    ]
    run_in_forks(project, calls[:1])  # takes in the edit of the policy, and remembers the rules

    (told,) = run_in_forks(project, calls[1:], heavy=("subprocess", "dataclasses", "gitnexus.git.child"))

    assert told == f"{calls[1][0]}: [] 0"
