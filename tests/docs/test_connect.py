"""What the page about agents tells people to paste parses, names our server, and works."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forked import ForkedServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-an-agent.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
CONFIGS = [(kind, text) for kind, text in BLOCKS if kind in ("json", "toml")]


def servers(value: Any) -> Iterator[list[str]]:
    """Yield the command line of every server in a config, wherever the client keeps it."""
    if not isinstance(value, dict):
        return
    if "command" in value:
        command = value["command"]
        yield [*([command] if isinstance(command, str) else command), *value.get("args", [])]
    for below in value.values():
        yield from servers(below)


@pytest.mark.parametrize(("kind", "text"), CONFIGS)
def test_every_config_parses_and_starts_our_server_under_one_name(kind: str, text: str) -> None:
    value = json.loads(text) if kind == "json" else tomllib.loads(text)

    found = list(servers(value))

    assert len(found) == 1
    assert found[0][:4] == ["git", "nexus", "mcp", "--harness"]
    assert re.fullmatch(r"[a-z][a-z0-9-]*", found[0][4])
    assert '"nexus"' in text or "mcp_servers.nexus]" in text


def test_the_page_has_a_config_for_every_client_and_no_block_of_an_unknown_kind() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert {kind for kind, _ in BLOCKS} == {"json", "toml", "sh"}
    for client, file in (
        ("Claude Code", ".mcp.json"),
        ("Codex", "~/.codex/config.toml"),
        ("Gemini CLI", ".gemini/settings.json"),
        ("OpenCode", "opencode.json"),
        ("Cursor", ".cursor/mcp.json"),
    ):
        section = text.partition(f"## {client}\n")[2].partition("\n## ")[0]
        assert f"`{file}`" in section
        assert BLOCK.search(section)


def test_the_server_answers_what_the_page_sends(repository: Path) -> None:
    script = next(text for kind, text in BLOCKS if kind == "sh" and "initialize" in text)
    messages = re.findall(r"'(\{.*\})'", script)

    server = ForkedServer("-C", str(repository), "mcp")
    server.stdin.write(("\n".join(messages) + "\n").encode())
    server.stdin.flush()
    first, second = json.loads(server.stdout.readline()), json.loads(server.stdout.readline())

    assert server.close() == 0

    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    assert len(messages) == 3
    assert first["result"]["serverInfo"]["name"] == "git-nexus"
    assert second["result"]["structuredContent"] == {"active": False}
    assert json.loads(second["result"]["content"][0]["text"]) == {"active": False}
