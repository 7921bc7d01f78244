"""Files for Cursor and other programs that only support MCP: tools and instructions, but no hooks and so no gate."""

from collections.abc import Iterator
from pathlib import Path

from gitnexus.harness.install import words
from gitnexus.harness.install.context import InstallContext, quote_for_config
from gitnexus.harness.install.model import Block, Put, WantedFile


def cursor_files(kit: InstallContext) -> Iterator[WantedFile]:
    """Yield Cursor's files. At user scope Cursor starts servers in any folder, so the project folder is passed."""
    user = kit.scope == "user"
    command, *args = kit.server("cursor")
    server: dict[str, object] = {"command": command, "args": args}
    server |= {"env": {"NEXUS_PROJECT": "${workspaceFolder}"}} if user else {}
    yield WantedFile(kit.root / ".cursor" / "mcp.json", "json", (Put(("mcpServers", "nexus"), server),))
    if not user:
        rows = {"description": quote_for_config("How to work with git nexus"), "alwaysApply": "true"}
        rule = words.signed_markdown_file(rows, words.INSTRUCTIONS)
        yield WantedFile(kit.root / ".cursor" / "rules" / "git-nexus.mdc", "whole", (rule,))


def mcp_client_files(kit: InstallContext, file: Path, key: str) -> Iterator[WantedFile]:
    """Yield the one entry in the config of an MCP client: JSON below `key`, or a TOML table."""
    command, *args = kit.server("mcp")
    if file.suffix == ".toml":
        lines = [f"command = {quote_for_config(command)}", f"args = [{', '.join(map(quote_for_config, args))}]"]
        yield WantedFile(file, "toml", (Block("\n".join([f"[{key}.nexus]", *lines]), (*key.split("."), "nexus")),))
    else:
        yield WantedFile(file, "json", (Put((*key.split("."), "nexus"), {"command": command, "args": args}),))
