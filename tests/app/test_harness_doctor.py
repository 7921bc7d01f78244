"""The canary: whether an installed hook really stops a call, told by calling it as the program would."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitnexus.app.harness_doctor import examine_harness, summarize_harnesses
from gitnexus.app.harness_install import install_harness
from gitnexus.harness.protocols.table import NAMES
from tests.conftest import Nexus

NODE = shutil.which("node")
NO_NODE = "there is no node on PATH to load the plugin of OpenCode with: install Node.js"


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git-nexus on PATH that answers what stands in a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "git-nexus"
    script.write_text(f"#!/bin/sh\ncat > '{folder}/asked'\n. '{folder}/says'\n")
    script.chmod(0o755)
    for name in ("claude", "codex", "gemini", "opencode"):  # those of this machine are not asked
        (folder / name).write_text("#!/bin/sh\necho nexus\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def canary(place: Path, name: str) -> tuple[str, str]:
    found = [finding for finding in examine_harness(place, name) if finding.check == "canary"]
    assert len(found) == 1
    return found[0].state, found[0].words


@pytest.mark.parametrize(
    ("told", "state", "words"),
    [
        ("✓ nexus: git nexus mcp (stdio) - Connected", "ok", "gemini knows the server nexus"),
        ("✗ nexus: git nexus mcp (stdio) - Disconnected", "warning", "gemini knows the server nexus, and did not"),
        ("○ nexus: git nexus mcp (stdio) - Disabled", "problem", "gemini has the server nexus switched off"),
        ("No MCP servers configured.", "problem", "gemini does not know the server nexus"),
    ],
)
def test_gemini_tells_of_the_server_on_stderr(told: str, state: str, words: str, repository: Path, says: Path) -> None:
    install_harness(repository, "gemini-cli", "project", None, dry_run=False)
    (says / "says").write_text("exit 2\n")
    (says / "gemini").write_text(f"#!/bin/sh\necho '{told}' >&2\n")

    found = next(finding for finding in examine_harness(repository, "gemini-cli") if finding.check == "program")

    assert (found.state, found.words.startswith(words)) == (state, True)


@pytest.mark.parametrize(
    ("told", "pure", "state", "words"),
    [
        ('{"mcp": {"nexus": {}}, "plugin": ["file:///x/git-nexus.js"]}', "", "ok", "opencode loads the plugin"),
        (
            '{"mcp": {"nexus": {}}, "plugin": []}',
            "",
            "problem",
            "opencode does not load the plugin: nothing is blocked",
        ),
        ('{"plugin": ["file:///x/git-nexus.js"], "a": "nexus"}', "1", "problem", "OPENCODE_PURE is set"),
        ("nexus [", "", "warning", "opencode did not report which plugins it loads"),
    ],
)
def test_opencode_is_asked_which_plugins_it_loads(
    told: str, pure: str, state: str, words: str, repository: Path, says: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_harness(repository, "opencode", "project", None, dry_run=False)
    (says / "says").write_text("exit 2\n")
    # More than a pipe holds comes before it, as the roles do.
    (says / "opencode").write_text(f"#!/bin/sh\nprintf '%200000s' ''\necho '{told}'\n")
    monkeypatch.setenv("OPENCODE_PURE", pure)

    found = examine_harness(repository, "opencode")

    last = [finding for finding in found if finding.check == "program"][-1]
    assert (last.state, last.words.startswith(words)) == (state, True)
    assert [finding.state for finding in found if finding.check == "network"] == ["warning"]


@pytest.mark.parametrize("name", NAMES)
def test_a_hook_that_refuses_the_canary_is_proved_to_block(name: str, repository: Path, says: Path) -> None:
    if name == "opencode" and NODE is None:
        pytest.skip(NO_NODE)
    install_harness(repository, name, "project", None, dry_run=False)
    (says / "says").write_text("echo 'git nexus canary: refused' >&2; exit 2\n")

    assert canary(repository, name) == ("ok", "a call that must be refused was refused by the installed hook")
    assert b"git-nexus-canary" in (says / "asked").read_bytes()


# OpenCode's plugin takes silence for a no, so there it is no way to let a call pass.
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *((name, """echo '{"verdict": "allow"}'""") for name in NAMES),
        *((name, "exit 0") for name in NAMES if name != "opencode"),
    ],
)
def test_a_hook_that_lets_the_canary_pass_is_a_problem(name: str, answer: str, repository: Path, says: Path) -> None:
    if name == "opencode" and NODE is None:
        pytest.skip(NO_NODE)
    install_harness(repository, name, "project", None, dry_run=False)
    (says / "says").write_text(answer + "\n")

    assert canary(repository, name)[0] == "problem"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("answer", ["exit 1", "echo '{'", "kill -9 $$"])
def test_where_git_nexus_fails_the_hook_refuses_everything_and_says_so(
    name: str, answer: str, repository: Path, says: Path
) -> None:
    if name == "opencode" and NODE is None:
        pytest.skip(NO_NODE)
    install_harness(repository, name, "project", None, dry_run=False)
    (says / "says").write_text(answer + "\n")

    state, words = canary(repository, name)

    assert state == "problem"
    # A program takes what is no JSON for no answer; only a plugin of ours can take it for a no.
    assert ("refuses everything" in words) == (answer != "echo '{'" or name == "opencode")


def test_a_hook_that_is_gone_is_a_problem(repository: Path, says: Path) -> None:
    install_harness(repository, "gemini-cli", "project", None, dry_run=False)
    (says / "says").write_text("exit 2\n")
    (repository / ".gemini" / "settings.json").write_text("{}")

    found = {(finding.check, finding.state): finding.words for finding in examine_harness(repository, "gemini-cli")}

    assert "does not have our hook for BeforeTool: nothing is blocked" in found["canary", "problem"]
    assert found["files", "problem"] == ".gemini/settings.json: without ours"


def test_what_is_not_installed_is_said_with_the_way_to_it(repository: Path) -> None:
    first = examine_harness(repository, "codex")[0]

    assert (first.state, first.words, first.hint) == (
        "problem",
        "Codex: not installed",
        "git nexus harness install codex",
    )
    assert list(summarize_harnesses(repository)) == []


def test_the_commands_tell_the_same_in_words_and_as_json(nexus: Nexus) -> None:
    listed = nexus.ok("harness", "list")
    dry = nexus.ok("harness", "install", "cursor", "--dry-run")
    told = nexus.ok("harness", "install", "cursor", "--json")
    status = nexus.ok("harness", "status", "cursor")
    broken = nexus("harness", "doctor", "codex", "--json")
    wrong = nexus("harness", "install", "cursor", "--config", "x")

    assert "claude-code" in listed
    assert '+    "nexus": {' in dry
    assert "Nothing was written." in dry
    assert '"change": "created"' in told
    assert "Cursor, project scope: installed" in status
    assert "not protected: no hook of ours" in status
    assert (broken.returncode, wrong.returncode) == (1, 2)


@pytest.mark.skipif(NODE is None, reason=NO_NODE)
def test_the_plugin_of_opencode_hands_events_on_and_what_is_said_to_the_model(repository: Path, says: Path) -> None:
    install_harness(repository, "opencode", "project", None, dry_run=False)
    (says / "says").write_text(
        f"""echo "$4" >> '{says}/events'; echo '{{"context": "look here", "verdict": "allow"}}'\n"""
    )
    script = """
const { GitNexus } = await import(process.argv[1])
const hooks = await GitNexus({ directory: process.cwd() })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "a" } } } })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "b", parentID: "a" } } } })
const parts = [{ id: "prt_1", type: "text", text: "[plan] it" }]
await hooks["chat.message"]({ sessionID: "a", agent: "build" }, { message: {}, parts })
const brief = [{ ...parts[0], id: "prt_2" }]
await hooks["chat.message"]({ sessionID: "b", agent: "engineer" }, { message: {}, parts: brief })
await hooks["tool.execute.before"]({ tool: "read", sessionID: "b", callID: "c" }, { args: { filePath: "x" } })
const output = { output: "text" }
await hooks["tool.execute.after"]({ tool: "read", sessionID: "b", callID: "c", args: { filePath: "x" } }, output)
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "b" } } })
hooks.event({ event: { type: "session.compacted", properties: { sessionID: "a" } } }) // nobody waits for it
const system = []
await hooks["experimental.chat.system.transform"]({ sessionID: "a" }, { system })
await hooks["experimental.chat.system.transform"]({ sessionID: "a" }, { system })
console.log(JSON.stringify({ parts, system, output }))
"""
    plugin = (repository / ".opencode" / "plugins" / "git-nexus.js").as_uri()

    done = subprocess.run(
        [NODE or "", "--input-type=module", "-e", script, plugin],
        cwd=repository, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert (says / "events").read_text().split() == [
        "session_start", "user_message", "subagent_spawn", "pre_tool_use", "post_tool_use", "subagent_complete",
        "context_compact", "session_end",
    ]  # fmt: skip
    assert '"text":"look here\\n\\nlook here","synthetic":true' in done.stdout
    assert '"system":["look here","look here"]' in done.stdout
    assert '"output":"text\\n\\nlook here"' in done.stdout
