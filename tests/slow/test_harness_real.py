"""What the real programs say when `harness doctor` asks them, and what it says when something is broken on purpose."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.stub_models import Step, StubModels
from tests.conftest import Nexus, run_git
from tests.slow.conftest import _had
from tests.slow.test_adapters_real import REAL
from tests.slow.test_harness_whole import PROGRAMS, yes_to_hooks

pytestmark = pytest.mark.slow
NOWHERE = "http://127.0.0.1:1"
HOOKS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".opencode/plugins/git-nexus.js",
}


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A repository whose path every program can take."""
    place = tmp_path / "work"
    place.mkdir()
    run_git(place, "init", "-q")
    run_git(place, "commit", "-q", "--allow-empty", "-m", "first")
    Nexus(place).ok("init")
    return place


def told(place: Path, harness: str, path: str, keys: dict[str, str]) -> tuple[bool, dict[str, list[str]]]:
    """Return whether doctor finds all well, and what it says, by check; its own program is named by its full path."""
    argv = [str(Path(sys.executable).parent / "git-nexus"), "harness", "doctor", harness, "--json"]
    env = {**os.environ, **keys, "PATH": path}
    done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, timeout=300, check=False)
    said = json.loads(done.stdout)
    print(done.stdout)
    found: dict[str, list[str]] = {}
    for row in said["findings"]:
        found.setdefault(row["check"], []).append(f"{row['state']}: {row['message']}")
    assert said["healthy"] == (done.returncode == 0)
    return said["healthy"], found


@pytest.mark.parametrize("harness", PROGRAMS)
def test_doctor_proves_the_hooks_with_the_real_program_and_says_what_is_broken(
    harness: str, short: Path, sealed: Path
) -> None:
    one = PROGRAMS[harness]
    program = _had(one.real, REAL[one.real].get)
    Nexus(short).ok("harness", "install", harness)
    keys = one.tell(sealed, short, NOWHERE)
    path = os.environ["PATH"]
    without = os.pathsep.join(part for part in path.split(os.pathsep) if not Path(part, "git-nexus").exists())

    healthy, found = told(short, harness, f"{program.parent}{os.pathsep}{path}", keys)
    assert healthy
    assert found["canary"] == ["ok: a call that must be refused was refused by the installed hook"]
    # On a machine with much to do Gemini CLI does not wait long enough for the server.
    assert found["program"][0].partition(": ")[2].startswith(f"{one.real} knows the server nexus")
    assert not any(words.startswith("problem: ") for words in found["program"])
    assert all("not protected: " in words for words in found["limits"])
    assert ("network" in found) == (harness == "opencode")

    # git nexus is not on PATH: the hook fails shut, and that is said.
    healthy, found = told(short, harness, without, keys)
    assert not healthy
    assert "refuses everything" in found["canary"][0]

    # Somebody took the hook out.
    file = short / HOOKS[harness]
    if harness == "opencode":
        file.unlink()
    else:
        file.write_text("{}")
    healthy, found = told(short, harness, path, keys)
    assert not healthy
    assert "nothing is blocked" in found["canary"][0]


def test_claude_code_takes_the_plugin_folder(short: Path, sealed: Path, tmp_path: Path) -> None:
    program = str(_had("claude", REAL["claude"].get))
    folder = tmp_path / "plugin"
    Nexus(short).ok("harness", "install", "claude-code", "--plugin", str(folder))

    env = {"PATH": os.environ["PATH"], "HOME": str(sealed)}
    done = subprocess.run(
        [program, "plugin", "validate", str(folder)], env=env, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout


def test_codex_counts_our_hooks_as_we_do(short: Path, sealed: Path) -> None:
    program = _had("codex", REAL["codex"].get)
    Nexus(short).ok("harness", "install", "codex")
    keys = PROGRAMS["codex"].tell(sealed, short, NOWHERE)
    rows = list(yes_to_hooks(short / ".codex" / "hooks.json"))
    config, path = sealed / ".codex" / "config.toml", f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    trusted = config.read_text()

    config.write_text(trusted.removesuffix("".join(rows)))
    healthy, before = told(short, "codex", path, keys)
    config.write_text(trusted.removesuffix("".join(rows)) + "".join(rows[1:]))
    _, one_less = told(short, "codex", path, keys)

    count = len(rows)
    words = "hooks are untrusted and do not run: start codex and open /hooks"
    assert not healthy
    assert before["trust"] == [f"problem: {count} of {count} {words}"]
    assert f"problem: codex skips {count} of {count} hooks" in before["program"]
    assert one_less["trust"] == [f"problem: 1 of {count} {words}"]
    assert f"problem: codex skips 1 of {count} hooks" in one_less["program"]


def test_without_the_hook_the_same_call_is_run(short: Path, sealed: Path, tmp_path: Path) -> None:
    one = PROGRAMS["claude-code"]
    program = _had("claude", REAL["claude"].get)
    canary = tmp_path / "bin" / "git-nexus-canary"
    canary.parent.mkdir()
    canary.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    canary.chmod(0o755)

    with StubModels(one.run(short, canary.name), Step(text="Done.")) as stub:
        keys = one.tell(sealed, short, stub.address)
        env = {**os.environ, **keys, "PATH": f"{canary.parent}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run(
            [str(program), *one.argv("do it", "")],
            cwd=short,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )

    assert (tmp_path / "ran").exists(), "a canary that is never run would prove nothing about any hook"
