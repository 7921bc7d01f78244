"""The hooks of a harness as a program calls them, beside the least that a Python process could cost.

The gate's event belongs here too: what runs before and after every tool is what a person waits for.
"""

import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from commands import child, repository, sealed
from measure import Ratio, compare

ROUNDS = 40


def hook(place: Path, event: str, name: str, **fields: object) -> Callable[[], object]:
    """Return one call of a hook, with what Claude Code sends."""
    payload = {"session_id": "bench", "cwd": str(place), "hook_event_name": name, "tool_use_id": "t1", **fields}
    raw = json.dumps(payload).encode()

    def run() -> None:
        argv = ["git-nexus", "hook", "harness", "claude-code", event]
        subprocess.run(argv, cwd=place, input=raw, check=True, stdout=subprocess.DEVNULL)

    return run


def scene(place: Path) -> None:
    """A project as it is in the middle of work: a plan, tasks, notes, an open session."""
    calls = (
        ["init", "--name", "bench"],
        ["tool", "plan_start", json.dumps({"topic": "Bench", "issues": ["One?", "Two?"], "research_summary": ""})],
        *(["tool", "task_add", json.dumps({"title": f"Task {n}", "context": "c"})] for n in range(5)),
        *(["memory", "add", f"pattern-{word}", f"About {word}."] for word in ("tags", "ci", "docs")),
    )
    for argv in calls:
        subprocess.run(["git", "nexus", *argv], cwd=place, check=True, stdout=subprocess.DEVNULL)
    hook(place, "session_start", "SessionStart", source="startup")()


def policy() -> str:
    """A policy of twenty rules, as a project that agents work in has it."""
    allows = [f"- write: ['part{n}/**']" for n in range(8)] + ["- run: [git, log, '**']", "- run: [git, status]"]
    denies = [f"- write: ['part{n}/generated/**']" for n in range(8)] + [
        "- run: [curl, '**']",
        "- read: ['private/**']",
    ]
    return "\n".join(["---", "version: 1", "allow:", *allows, "deny:", *denies, "---", ""])


def gate(place: Path, python: Callable[[], object]) -> Iterator[Ratio]:
    """The gate before a tool: the same call again, a file that was never seen, and a command that was never seen."""
    file = place / ".nexus" / "policy.md"
    file.write_text(policy())
    digest = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    subprocess.run(["git", "nexus", "policy", "trust", "--confirm", digest], cwd=place, check=True, capture_output=True)
    count = itertools.count()

    def edit(path: str) -> None:
        given = {"file_path": path.format(next(count)), "old_string": "a", "new_string": "b"}
        hook(place, "pre_tool_use", "PreToolUse", tool_name="Edit", tool_input=given)()

    def run(command: str) -> None:
        given = {"command": command.format(next(count) + 1)}
        hook(place, "pre_tool_use", "PreToolUse", tool_name="Bash", tool_input=given)()

    for word, ours, limit in (
        ("an edit", partial(edit, "part3/a.py"), 4.0),
        ("an edit of a file never seen", partial(edit, "part3/new{}.py"), 4.0),
        ("a command", partial(run, "git status"), 4.0),
        ("a command never seen", partial(run, "git log -{}"), 4.0),
        ("a command never seen that is denied", partial(run, "curl http://localhost/{}"), 4.0),
        ("an edit that waits for a person", partial(edit, "a.txt"), 4.0),
        ("a command that waits for a person", partial(run, "make test"), 4.0),
    ):
        yield compare(f"pre_tool_use before {word}", ours, "python -c pass", python, limit, ROUNDS)


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sealed(scratch)
        place = repository(scratch / "project")
        scene(place)
        python = child(place, sys.executable, "-c", "pass")
        read = {"tool_name": "Read", "tool_input": {"file_path": f"{place}/a.txt"}, "tool_response": {"file": {}}}
        edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{place}/a.txt"}, "tool_response": {}}
        command = {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_response": {"stdout": "x" * 9000}}
        note = {**read, "tool_input": {"file_path": f"{place}/.nexus/memory/pattern-ci.md"}}
        for word, fields in (("a read", read), ("a read of a note", note), ("a command", command), ("an edit", edit)):
            ours = hook(place, "post_tool_use", "PostToolUse", **fields)
            yield compare(f"post_tool_use after {word}", ours, "python -c pass", python, 4.0, ROUNDS)
        for word, text in (("plain", "Please go on with it."), ("with a tag", "[run] the tasks")):
            ours = hook(place, "user_message", "UserPromptSubmit", prompt=text)
            yield compare(f"user_message, {word}", ours, "python -c pass", python, 8.0, ROUNDS)
        yield from gate(place, python)
