"""Whether a server that a program calls `nexus` is ours: by the command line in the program's own files.

A name proves nothing: any project and any plug-in may call a server so. Read are the files in which a program keeps its
servers, of the project and of the person. One that starts something else under our name makes it nobody's; so does a
name that stands in none of them.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitnexus.app.gatememo import found_on_path
from gitnexus.base.text import one_line
from gitnexus.harness.install.trust import json_at, toml_at
from gitnexus.policy.builtin import why_bad_variable

_NAME = "nexus"


def why_not_ours(harness: str, server: str, top: str, *, in_run: bool = False) -> tuple[str, list[str]]:
    """Return why the tools of a server are not ours, empty if they are, and the files that this rests on.

    `in_run` is true in a run of ours, whose agent was started with our server on its command line.
    """
    files = _plugin_files() if server != _NAME else _files(harness, top)
    found: list[bool] = []
    for file in files:
        for name, value in _servers(file, top):
            if name != _NAME:
                why = f"the tools of the server {one_line(name, 60)} cannot be told from ours by their names"
                return f"{why}: give it another name", files
            found.append(_starts_us(value))
    if found and all(found):
        return "", files
    if in_run and not found:
        return "", files
    why = "starts another program" if found else "stands in none of the program's files"
    return f"the server {server} {why}, so its tools are not ours: git nexus harness doctor {harness}", files


def _files(harness: str, top: str) -> list[str]:
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
    """Return the servers of the plug-in whose hook this is; without one nobody can tell whose plug-in it is."""
    root = Path(os.environ.get("CLAUDE_PLUGIN_ROOT", ""))
    return [str(root / ".mcp.json")] if root.is_absolute() else []


def _servers(file: str, top: str) -> Iterator[tuple[str, Any]]:
    """Yield what a file has under our name, and under names that begin like it: programs join server and tool."""
    value = _value(file)
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


def _value(file: str) -> Any:
    path = Path(file)
    return toml_at(path) if file.endswith(".toml") else json_at(path)


def _starts_us(value: Any) -> bool:
    """True for a server whose command is git nexus itself, with nothing set around it that makes it another program."""
    if not isinstance(value, dict) or value.get("url") or value.get("httpUrl") or value.get("cwd"):
        return False
    command, args = value.get("command"), value.get("args") or []
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [args])]
    around = value.get("env") or value.get("environment") or {}
    if not all(isinstance(word, str) for word in words) or not isinstance(around, dict):
        return False
    if any(name == "PATH" or why_bad_variable(str(name), str(text)) for name, text in around.items()):
        return False
    if words[:3] == ["git", "nexus", "mcp"]:
        return True
    return words[1:2] == ["mcp"] and _is_our_program(words[0])


def _is_our_program(word: str) -> bool:
    """True for the very file that is at work here, or the one that a shell would find."""
    if Path(word).name != "git-nexus":
        return False
    ours = {os.path.realpath(sys.argv[0]), found_on_path("git-nexus")}
    return "/" not in word or os.path.realpath(word) in ours
