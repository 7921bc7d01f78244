"""Decides from a program's configuration files whether the MCP server it calls `nexus` is ours.

A name proves nothing: any project or plug-in may use it. The files of the project and of the user are read in which a
program lists its servers. If one starts another command under our name, or none lists the name, the server is not ours.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitnexus.base.text import one_line
from gitnexus.harness.install.trust import read_json_or_none, read_toml_or_empty
from gitnexus.policy.builtin import why_bad_variable
from gitnexus.toolgate.cache import find_on_path

_NAME = "nexus"


def why_not_ours(harness: str, server: str, top: str, *, in_run: bool = False) -> tuple[str, list[str]]:
    """Return why the tools of a server are not ours, "" if they are, and the files that this depends on.

    `in_run` is true in a run of ours, whose agent was started with our server on its command line.
    """
    files = _plugin_files() if server != _NAME else _server_files(harness, top)
    found: list[bool] = []
    for file in files:
        for name, value in _servers_in_file(file, top):
            if name != _NAME:
                why = f"the tools of the server {one_line(name, 60)} have the same names as ours"
                return f"{why}: give it another name", files
            found.append(_starts_our_program(value))
    if found and all(found):
        return "", files
    if in_run and not found:
        return "", files
    why = "starts another program" if found else "is in none of the program's files"
    return f"the server {server} {why}, so its tools are not ours: git nexus harness doctor {harness}", files


def _server_files(harness: str, top: str) -> list[str]:
    home, root, environ = Path.home(), Path(top), os.environ
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    opencode = Path(environ.get("OPENCODE_CONFIG_DIR") or config / "opencode")
    rows: dict[str, list[Path]] = {
        "claude-code": [root / ".mcp.json", Path(environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"],
        "codex": [
            root / ".codex" / "config.toml",
            Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml",
        ],
        "gemini-cli": [
            root / ".gemini" / "settings.json",
            Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "settings.json",
        ],
        "opencode": [
            folder / name
            for folder in (root, root / ".opencode", opencode)
            for name in ("opencode.json", "opencode.jsonc")
        ],
    }
    return [str(path) for path in rows.get(harness, [])]


def _plugin_files() -> list[str]:
    """Return the server files of the plug-in that this hook belongs to; empty if it is unknown."""
    root = Path(os.environ.get("CLAUDE_PLUGIN_ROOT", ""))
    return [str(root / ".mcp.json")] if root.is_absolute() else []


def _servers_in_file(file: str, top: str) -> Iterator[tuple[str, Any]]:
    """Yield a file's servers with our name or with a name that starts like it: programs join server and tool names."""
    value = _parse_config_file(file)
    if not isinstance(value, dict):
        return
    tables = [value.get(key) for key in ("mcpServers", "mcp_servers", "mcp")]
    projects = value.get("projects")
    if isinstance(projects, dict) and isinstance(projects.get(top), dict):
        tables.append(projects[top].get("mcpServers"))
    for table in tables:
        for name, server in table.items() if isinstance(table, dict) else ():
            if name == _NAME or str(name).lower().startswith((f"{_NAME}_", f"{_NAME}-", f"{_NAME}.")):
                yield str(name), server


def _parse_config_file(file: str) -> Any:
    path = Path(file)
    return read_toml_or_empty(path) if file.endswith(".toml") else read_json_or_none(path)


def _starts_our_program(value: Any) -> bool:
    """True for a server whose command is git nexus, with no variables that make it run another program."""
    if not isinstance(value, dict) or value.get("url") or value.get("httpUrl") or value.get("cwd"):
        return False
    command, args = value.get("command"), value.get("args") or []
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [args])]
    context = value.get("env") or value.get("environment") or {}
    if not all(isinstance(word, str) for word in words) or not isinstance(context, dict):
        return False
    if any(name == "PATH" or why_bad_variable(str(name), str(text)) for name, text in context.items()):
        return False
    if words[:3] == ["git", "nexus", "mcp"]:
        return True
    return words[1:2] == ["mcp"] and _is_our_program(words[0])


def _is_our_program(word: str) -> bool:
    """True if the word names the running program's file, or the one that a shell would find."""
    if Path(word).name != "git-nexus":
        return False
    ours = {os.path.realpath(sys.argv[0]), find_on_path("git-nexus")}
    return "/" not in word or os.path.realpath(word) in ours
