"""Servers that bear our name, notes that an agent would delete, and input to a command that runs already."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.harness.model import HarnessEvent
from gitnexus.toolgate.gate import answer_tool_call
from tests.conftest import Nexus

OURS = {"command": "git", "args": ["nexus", "mcp", "--harness", "claude-code"]}


def said(place: Path, harness: str, tool: str, given: dict[str, Any]) -> tuple[str, str]:
    told = HarnessEvent(harness, "pre_tool_use", "PreToolUse", tool=tool, given=given, session="s", cwd=str(place))
    answer = answer_tool_call(told)
    return answer.verdict, answer.reason


@pytest.mark.parametrize(
    ("server", "verdict"),
    [
        pytest.param(OURS, "allow", id="ours"),
        pytest.param({"command": "git-nexus", "args": ["mcp"]}, "allow", id="ours-by-its-own-name"),
        pytest.param(None, "deny", id="in-no-file"),
        pytest.param({"command": "node", "args": ["evil.js"]}, "deny", id="another-program"),
        pytest.param({"command": "/tmp/evil/git-nexus", "args": ["mcp"]}, "deny", id="a-file-of-our-name"),
        pytest.param({"command": "sh", "args": ["-c", "evil", "nexus", "mcp"]}, "deny", id="our-words-at-its-end"),
        pytest.param({**OURS, "env": {"PATH": "/tmp/evil"}}, "deny", id="another-path"),
        pytest.param({**OURS, "env": {"GIT_EXEC_PATH": "/tmp/evil"}}, "deny", id="another-git"),
        pytest.param({"url": "https://evil.example/mcp", "command": "git", "args": ["nexus", "mcp"]}, "deny", id="far"),
    ],
)
def test_a_server_is_ours_by_what_is_started_not_by_its_name(
    project: Path, server: dict[str, Any] | None, verdict: str
) -> None:
    if server is not None:
        (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"nexus": server}}))

    assert said(project, "claude-code", "mcp__nexus__nx_task_add", {})[0] == verdict


@pytest.mark.parametrize("harness", ["claude-code", "gemini-cli", "opencode"])
def test_a_server_whose_tools_would_be_called_like_ours_makes_them_nobodys(project: Path, harness: str) -> None:
    file, key, tool = {
        "claude-code": (".mcp.json", "mcpServers", "mcp__nexus__nx_context"),
        "gemini-cli": (".gemini/settings.json", "mcpServers", "mcp_nexus_nx_context"),
        "opencode": ("opencode.json", "mcp", "nexus_nx_context"),
    }[harness]
    (project / file).parent.mkdir(exist_ok=True)
    servers = {"nexus": OURS}
    (project / file).write_text(json.dumps({key: servers}))
    assert said(project, harness, tool, {})[0] == "allow"
    (project / file).write_text(json.dumps({key: {**servers, "nexus_nx": {"command": "evil"}}}))
    assert said(project, harness, tool, {})[0] == "deny"
    (project / file).write_text(json.dumps({key: {"nexus": {**OURS, "cwd": "/tmp"}}}))
    assert said(project, harness, tool, {})[0] == "deny"


def test_a_tool_that_is_not_called_like_one_of_ours_is_not_ours(project: Path) -> None:
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"nexus": OURS}}))

    assert said(project, "claude-code", "mcp__nexus__nx_memory_gc__x", {})[0] == "deny"


def test_a_server_of_our_name_in_a_plugin_of_somebody_else_is_not_ours(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = "mcp__plugin_{}_nexus__nx_task_add"
    assert said(project, "claude-code", tool.format("evil"), {})[0] == "deny"
    assert said(project, "claude-code", tool.format("git-nexus"), {})[0] == "deny"
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / ".mcp.json").write_text(json.dumps({"mcpServers": {"nexus": OURS}}))
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(tmp_path / "plugin"))
    assert said(project, "claude-code", tool.format("git-nexus"), {})[0] == "allow"
    assert said(project, "claude-code", tool.format("evil"), {})[0] == "deny"


def test_input_to_a_running_command_is_judged_like_a_command(project: Path, sealed: Path) -> None:
    (sealed / "nexus").mkdir(exist_ok=True)
    rules = "allow:\n- run: [git, status]\ndeny:\n- {name: no-curl, run: [curl, '**']}\n"
    (sealed / "nexus" / "policy.md").write_text(f"---\nversion: 1\n{rules}---\n")

    def typed(text: str) -> tuple[str, str]:
        return said(project, "codex", "write_stdin", {"session_id": 1, "chars": text})

    assert typed("curl http://x\n")[0] == "deny"
    assert "user.no-curl" in typed("curl http://x\n")[1]
    assert "builtin.secret" in typed("cat .env\n")[1]
    verdict, why = typed("git status\n")
    assert (verdict, "waits for a person" in why) == ("deny", True)
    assert typed("")[0] == ""
    assert typed("\x03")[0] == ""
    assert typed("\n")[0] == "deny"
    assert "user.no-curl" in typed("\x03curl http://x\n")[1]
    other = said(project, "codex", "write_stdin", {"session_id": 1, "data": "id\n"})
    assert (other[0], "waits for a person" in other[1] or "not known here" in other[1]) == ("deny", True)


def test_an_agent_deletes_no_notes_without_a_person(project: Path, nexus: Nexus, sealed: Path) -> None:
    nexus.ok("memory", "add", "pattern-staging-deploy", "The staging deploy needs the migration flag and a warm cache.")
    other = {"name": "pattern-deploy-staging", "new": True}
    other["text"] = "A warm cache and the migration flag is what the staging deploy needs."
    nexus.ok("tool", "memory_store", json.dumps(other))
    merge = json.dumps({"merge": ["pattern-staging-deploy"]})

    done = nexus("tool", "nx_memory_gc", merge)

    assert done.returncode == 21, done
    assert "a person has to delete notes" in done.stdout
    assert "pattern-staging-deploy" in nexus.ok("memory", "list")
    (sealed / "nexus" / "policy.md").write_text("---\nversion: 1\ndeny:\n- {name: keep, kind: memory_delete}\n---\n")
    assert "user.keep denies" in nexus("tool", "memory_gc", merge).stdout
