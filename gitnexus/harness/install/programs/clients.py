"""Cursor, and any other program that only knows MCP: the tools, and words for the model; no hooks, so no gate."""

from collections.abc import Iterator
from pathlib import Path

from gitnexus.harness.install import words
from gitnexus.harness.install.kit import Kit, quoted
from gitnexus.harness.install.model import Block, Put, Want


def cursor(kit: Kit) -> Iterator[Want]:
    """Yield Cursor's files. For all projects of a person it starts servers anywhere, so the folder is named."""
    user = kit.scope == "user"
    command, *args = kit.server("cursor")
    server: dict[str, object] = {"command": command, "args": args}
    server |= {"env": {"NEXUS_PROJECT": "${workspaceFolder}"}} if user else {}
    yield Want(kit.root / ".cursor" / "mcp.json", "json", (Put(("mcpServers", "nexus"), server),))
    if not user:
        rows = {"description": quoted("How to work with git nexus"), "alwaysApply": "true"}
        rule = words.front(rows, words.INSTRUCTIONS)
        yield Want(kit.root / ".cursor" / "rules" / "git-nexus.mdc", "whole", (rule,))


def client(kit: Kit, file: Path, key: str) -> Iterator[Want]:
    """Yield the one entry in the config of any client: JSON below `key`, or a table in TOML."""
    command, *args = kit.server("mcp")
    if file.suffix == ".toml":
        lines = [f"command = {quoted(command)}", f"args = [{', '.join(map(quoted, args))}]"]
        yield Want(file, "toml", (Block("\n".join([f"[{key}.nexus]", *lines]), (*key.split("."), "nexus")),))
    else:
        yield Want(file, "json", (Put((*key.split("."), "nexus"), {"command": command, "args": args}),))
