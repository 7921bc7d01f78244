"""Decides whether the gate denies everything in a repository that is not a project.

A hook that the user installed for all repositories ignores those that are not projects; otherwise no work would be
possible there. Any other hook came with the repository, and whoever added it relies on it.
"""

import contextlib
import json
import os

from gitnexus.toolgate.cache import nexus_home

# Files that call the gate in a project, relative to the top of its worktree.
_CALLED_FROM = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini-cli": (".gemini/settings.json",),
    "opencode": (".opencode/plugins/git-nexus.js",),
}
_LARGEST = 1024 * 1024


def why_gate_shut(harness: str, folder: str) -> str:
    """Return why nothing may be done in a folder outside any project, "" if the gate has no opinion."""
    tops = _enclosing_repositories(os.path.realpath(folder))
    if not tops:
        return ""
    if any(_calls_our_gate(top, harness) for top in tops):
        return (
            "git nexus: this repository has the gate in its files and is not a project yet, so every tool is refused: "
            "a person makes it one with git nexus init"
        )
    if os.environ.get("CLAUDE_PLUGIN_ROOT") or _is_installed_for_all(harness):
        return ""
    return (
        "git nexus: this repository is not a project, so every tool is refused: a person makes it one with git nexus "
        f"init, or makes the gate ignore such repositories: git nexus harness install {harness} --scope user"
    )


def _enclosing_repositories(folder: str) -> list[str]:
    """Return the tops of all worktrees that contain a folder."""
    found, at = [], folder
    while True:
        if os.path.lexists(os.path.join(at, ".git")):
            found.append(at)
        above = os.path.dirname(at)
        if above == at:
            return found
        at = above


def _calls_our_gate(top: str, harness: str) -> bool:
    """True if files of a worktree call our gate for a program. Those in a home folder do so for all repositories."""
    if top == os.path.realpath(os.path.expanduser("~")):
        return False
    for name in _CALLED_FROM.get(harness, ()):
        with contextlib.suppress(OSError), open(os.path.join(top, name), "rb") as file:
            if f"hook harness {harness} pre_tool_use".encode() in file.read(_LARGEST) or name.endswith(".js"):
                return True
    return False


def _is_installed_for_all(harness: str) -> bool:
    """True if the user installed git nexus for all sessions of a program."""
    for name in ("installed.json", "pending.json"):
        with contextlib.suppress(OSError, ValueError), open(os.path.join(nexus_home(), "harness", name), "rb") as file:
            value = json.load(file)
            rows = value.get("harnesses") if isinstance(value, dict) else None
            if isinstance(rows, dict) and harness in rows:
                return True
    return False
