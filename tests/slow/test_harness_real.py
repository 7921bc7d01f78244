"""The real programs with git nexus installed into them: what they load, and a call that is really not executed."""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.adapters.stub_models import Step, StubModels
from tests.conftest import Nexus, run_git
from tests.slow.conftest import _had
from tests.slow.test_adapters_real import REAL

pytestmark = pytest.mark.slow
# Our own hook refuses it whatever the policy says. Here it is a program that leaves a trace, if it is ever run.
COMMAND = "git-nexus-canary"


@dataclass
class Started:
    """One program: how it is run headless with everything allowed by itself, and what it is told beforehand."""

    harness: str
    argv: Callable[[str], list[str]]
    tell: Callable[[Path, Path, str], dict[str, str]]
    call: Callable[[Path], Step]
    server: str


def _claude(home: Path, repo: Path, address: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "stub"}


def _codex(home: Path, repo: Path, address: str) -> dict[str, str]:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(
        f'model_provider = "stub"\nmodel = "stub-model"\n[projects."{repo}"]\ntrust_level = "trusted"\n'
        f'[model_providers.stub]\nname = "stub"\nbase_url = "{address}/v1"\nenv_key = "OPENAI_API_KEY"\n'
    )
    return {"OPENAI_API_KEY": "stub", "CODEX_HOME": str(home / ".codex")}


def _gemini(home: Path, repo: Path, address: str) -> dict[str, str]:
    said = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in (repo / ".gemini/agents").iterdir()}
    (home / ".gemini" / "acknowledgments").mkdir(parents=True, exist_ok=True)
    (home / ".gemini" / "acknowledgments" / "agents.json").write_text(json.dumps({str(repo): said}))
    (home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "stub", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _opencode(home: Path, repo: Path, address: str) -> dict[str, str]:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    models = {"stub-model": {"limit": {"context": 100_000, "output": 4000}}}
    options = {"baseURL": f"{address}/v1", "apiKey": "stub"}
    provider = {"stub": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}}
    (folder / "opencode.json").write_text(json.dumps({"provider": provider}))
    return {}


PROGRAMS = {
    "claude": Started(
        "claude-code",
        lambda program: [
            *(program, "-p", "do it", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"),
            *("--settings", '{"enableAllProjectMcpServers": true}'),
        ],
        _claude,
        lambda repo: Step(tool="Bash", given={"command": COMMAND, "description": "d"}),
        '"mcp_servers":[{"name":"nexus","status":',
    ),
    "codex": Started(
        "codex",
        lambda program: [
            *(program, "exec", "--json", "-s", "danger-full-access", "--dangerously-bypass-hook-trust", "do it"),
        ],
        _codex,
        lambda repo: Step(tool="exec_command", given={"cmd": COMMAND}),
        "nx_task_list",
    ),
    "gemini": Started(
        "gemini-cli",
        lambda program: [
            program,
            "-p",
            "do it",
            "-o",
            "stream-json",
            "-m",
            "gemini-2.5-pro",
            "--approval-mode",
            "yolo",
        ],
        _gemini,
        lambda repo: Step(tool="run_shell_command", given={"command": COMMAND, "dir_path": str(repo)}),
        "mcp_nexus_nx_task_list",
    ),
    "opencode": Started(
        "opencode",
        lambda program: [program, "run", "--format", "json", "-m", "stub/stub-model", "do it"],
        _opencode,
        lambda repo: Step(tool="bash", given={"command": COMMAND, "workdir": str(repo), "description": "d"}),
        "nexus_nx_task_list",
    ),
}


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A repository whose path every program can take, with files of the person's own in the way."""
    place = tmp_path / "work"
    place.mkdir()
    run_git(place, "init", "-q")
    (place / "AGENTS.md").write_text("# Ours\n\nBe kind.")
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.json").write_text('{\n\t"env": {"A": "1"}\n}\n')
    (place / ".gitignore").write_text(".opencode/node_modules\n")
    run_git(place, "add", ".")
    run_git(place, "commit", "-qm", "first")
    return place


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_program_offers_our_tools_and_does_not_run_what_the_hook_refuses(
    name: str, short: Path, sealed: Path, tmp_path: Path
) -> None:
    one, real = PROGRAMS[name], REAL[name]
    program = str(_had(real.name, real.get))
    nexus = Nexus(short)
    nexus.ok("init")
    nexus.ok("harness", "install", one.harness)
    trace, canary = tmp_path / "ran", tmp_path / "bin" / COMMAND
    canary.parent.mkdir()
    canary.write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    canary.chmod(0o755)
    path = f"{canary.parent}:{os.environ['PATH']}"

    with StubModels(one.call(short), Step(text="I could not.")) as stub:
        keys = one.tell(sealed, short, stub.address)
        env = {"PATH": path, "HOME": str(sealed), "LANG": "C.UTF-8", **keys}
        done = subprocess.run(
            one.argv(program),
            cwd=short,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
    print(done.stdout[-6000:].decode(), done.stderr[-3000:].decode(), sep="\n")
    asked = json.dumps(stub.requests)

    assert not trace.exists()
    # Claude Code begins while servers still start, and tells of them and of the roles in its first line.
    told = done.stdout.decode() if name == "claude" else asked
    assert one.server in told
    assert "I could not." in done.stdout.decode()
    # The roles and the instructions reached the model too.
    assert ('"architect"' if name == "claude" else "Technical design. Weighs two or three ways") in told
    assert "A call that was refused stays refused" in asked

    nexus.ok("harness", "uninstall", one.harness)
    left = run_git(short, "status", "--short").splitlines()
    assert [line for line in left if ".opencode/" not in line] == []


def test_without_the_hook_the_same_call_is_run(short: Path, sealed: Path, tmp_path: Path) -> None:
    one, real = PROGRAMS["claude"], REAL["claude"]
    program = str(_had(real.name, real.get))
    trace, canary = tmp_path / "ran", tmp_path / "bin" / COMMAND
    canary.parent.mkdir()
    canary.write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    canary.chmod(0o755)

    with StubModels(one.call(short), Step(text="Done.")) as stub:
        keys = one.tell(sealed, short, stub.address)
        env = {"PATH": f"{canary.parent}:{os.environ['PATH']}", "HOME": str(sealed), "LANG": "C.UTF-8", **keys}
        argv = one.argv(program)
        subprocess.run(
            argv, cwd=short, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=240, check=False
        )

    assert trace.exists(), "the test above would pass with any hook, or none"


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
    nexus = Nexus(short)
    nexus.ok("harness", "install", "codex")
    _codex(sealed, short, "http://127.0.0.1:1")
    path = f"{program.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "CODEX_HOME": str(sealed / ".codex")}

    def told() -> list[str]:
        argv = ["git", "nexus", "harness", "doctor", "codex", "--json"]
        done = subprocess.run(argv, cwd=short, env=env, capture_output=True, text=True, timeout=120, check=False)
        return [row["message"] for row in json.loads(done.stdout)["findings"] if row["check"] in ("trust", "program")]

    before = told()
    # As /hooks writes it when a person says yes: the hash that we take is the one that Codex wants.
    from gitnexus.harness.install import trust

    hooks = short / ".codex" / "hooks.json"
    value = json.loads(hooks.read_text())["hooks"]
    rows = []
    for key in trust.codex_hooks(hooks, {}):
        label, at, nth = key.rsplit(":", 3)[1:]
        event = next(name for name in value if trust.label_of(name) == label)
        group = value[event][int(at)]
        rows.append(
            f'[hooks.state."{key}"]\ntrusted_hash = "{trust.codex_hash(label, group, group["hooks"][int(nth)])}"\n'
        )
    config = sealed / ".codex" / "config.toml"
    config.write_text(config.read_text() + "".join(rows))
    after = told()

    count = len(rows)
    assert f"{count} of {count} hooks are untrusted and do not run: start codex and open /hooks" in before
    assert f"codex skips {count} of {count} hooks" in before
    assert after == ["codex knows the server nexus", f"codex runs all {count} hooks"]
