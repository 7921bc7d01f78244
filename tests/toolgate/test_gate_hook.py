"""The hook before each tool as a process: whatever goes wrong, the tool does not run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git, trust

NAMES = ("claude-code", "codex", "gemini-cli", "opencode")
BASH = {"claude-code": "Bash", "codex": "Bash", "gemini-cli": "run_shell_command", "opencode": "bash"}


def payload(place: Path, harness: str, command: str) -> str:
    tool, given = BASH[harness], {"command": command}
    if harness == "opencode":
        return json.dumps({"event": "tool.execute.before", "cwd": str(place), "tool": tool, "args": given})
    return json.dumps({"cwd": str(place), "session_id": "s", "tool_name": tool, "tool_input": given})


def hooked(nexus: Nexus, harness: str, stdin: str) -> "subprocess.CompletedProcess[str]":
    return nexus("hook", "harness", harness, "pre_tool_use", stdin=stdin)


def blocks(done: "subprocess.CompletedProcess[str]") -> bool:
    """True if the program takes the answer for a no: status 2 and words on stderr, or its own words for it."""
    if done.returncode == 2:
        return bool(done.stderr.strip())
    said: dict[str, Any] = json.loads(done.stdout or "{}")
    own = said.get("hookSpecificOutput", {}).get("permissionDecision")
    return done.returncode == 0 and "deny" in (own, said.get("decision"), said.get("verdict"))


@pytest.mark.parametrize("harness", NAMES)
def test_145_the_canary_is_refused_in_the_words_of_each_program_even_where_no_project_is(
    nexus: Nexus, harness: str
) -> None:
    done = hooked(nexus, harness, payload(nexus.place, harness, "git-nexus-canary"))

    assert blocks(done)
    assert "git nexus canary: refused" in done.stdout + done.stderr


def test_a_repository_that_is_no_project_is_refused_by_a_hook_that_came_with_it(nexus: Nexus) -> None:
    nexus.ok("harness", "install", "codex")
    done = hooked(nexus, "codex", payload(nexus.place, "codex", "make"))

    assert (done.returncode, done.stdout) == (2, "")
    assert "a person makes it one with git nexus init" in done.stderr


@pytest.mark.parametrize("harness", NAMES)
@pytest.mark.parametrize("stdin", ["", "{", "[]", '"x"', '{"tool_name": NaN}', "\x00"])
def test_what_is_no_payload_is_refused(project: Path, nexus: Nexus, harness: str, stdin: str) -> None:
    done = hooked(nexus, harness, stdin)

    assert done.returncode == 2
    assert "refused" in done.stderr


def test_a_program_that_nobody_knows_is_refused(project: Path, nexus: Nexus) -> None:
    assert hooked(nexus, "nobody", "{}").returncode == 2


@pytest.mark.parametrize(
    "broken", ["user policy", "project policy", "edited policy", "user settings", "state ref", "pin"]
)
def test_what_the_law_rests_on_is_broken_so_nothing_passes(
    project: Path, nexus: Nexus, sealed: Path, broken: str
) -> None:
    (project / ".nexus" / "policy.md").write_text("---\nversion: 1\nallow:\n- run: [git, status]\n---\n")
    trust(project)
    asked = payload(project, "claude-code", "git status")
    assert not blocks(hooked(nexus, "claude-code", asked))
    home = sealed / "nexus"
    if broken == "user policy":
        (home / "policy.md").write_text("---\nversion: 7\n---\n")
    elif broken == "edited policy":
        (project / ".nexus" / "policy.md").write_text("---\nallow: [\n---\n")
    elif broken == "project policy":
        blob = run_git(project, "hash-object", "-w", "--stdin", stdin="---\nallow: [\n---\n").strip()
        env = {"index": str(project.parent / "index")}
        script = (
            "set -e; export GIT_INDEX_FILE=$1; git read-tree refs/nexus/state; "
            "git update-index --add --cacheinfo 100644,$2,policy.md; "
            "git update-ref refs/nexus/state $(git commit-tree -p refs/nexus/state -m x $(git write-tree))"
        )
        subprocess.run(["sh", "-c", script, "sh", env["index"], blob], cwd=project, check=True)
    elif broken == "user settings":
        (home / "settings.json").write_text("{")
    elif broken == "state ref":
        run_git(project, "update-ref", "-d", "refs/nexus/state")
    else:
        next((home / "trust").glob("*.json")).write_text("{")

    done = hooked(nexus, "claude-code", asked)

    assert blocks(done), done


def in_process(place: Path, before: str, stdin: str) -> "subprocess.CompletedProcess[str]":
    code = (
        f"import sys; sys.argv = ['git-nexus', 'hook', 'harness', 'codex', 'pre_tool_use']\n{before}\n"
        "from gitnexus.main import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=place, input=stdin, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("import gitnexus.state.locate as m; m.locate_project = lambda f: 1 / 0", id="crash"),
        pytest.param("import gitnexus.state.locate as m; del m.locate_project", id="cannot be loaded"),
        pytest.param(
            "import gitnexus.state.locate as m\ndef f(x): raise SystemExit(0)\nm.locate_project = f", id="leaves"
        ),
        pytest.param(
            "import gitnexus.state.locate as m\ndef f(x): raise KeyboardInterrupt\nm.locate_project = f",
            id="interrupt",
        ),
        pytest.param(
            "import time, gitnexus.harness.model as m, gitnexus.state.locate as g; m.GATE_SECONDS = 0.2\n"
            "def f(x):\n    while True:\n        try:\n            time.sleep(9)\n        except BaseException:\n"
            "            pass\ng.locate_project = f",
            id="hangs",
        ),
    ],
)
def test_a_hook_that_fails_in_any_way_leaves_the_gate_shut(project: Path, before: str) -> None:
    done = in_process(project, before, payload(project, "codex", "git status"))

    assert done.returncode == 2
    assert done.stderr.strip()
