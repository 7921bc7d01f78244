"""A repository that is no project: the gate has no law there, so it is shut where somebody put it up for that place.

A hook that a person has in all repositories leaves those alone that are no projects of ours; else no work could be done
there. Whatever else calls it came with the repository, and whoever put it there counts on it.
"""

import contextlib
import json
import os

from gitnexus.app.gatememo import home

# Where the gate is called from in a project, from the top of its worktree.
_CALLED_FROM = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini-cli": (".gemini/settings.json",),
    "opencode": (".opencode/plugins/git-nexus.js",),
}
_LARGEST = 1024 * 1024


def why_shut(harness: str, folder: str) -> str:
    """Return why nothing may be done in a folder that lies in no project, empty if that is left alone."""
    tops = _repositories(os.path.realpath(folder))
    if not tops:
        return ""
    if any(_calls_us(top, harness) for top in tops):
        return (
            "git nexus: this repository has the gate in its files and is no project yet, so every tool is refused: "
            "a person makes it one with git nexus init"
        )
    if os.environ.get("CLAUDE_PLUGIN_ROOT") or _is_for_all(harness):
        return ""
    return (
        "git nexus: this repository is no project, so every tool is refused: a person makes it one with git nexus "
        f"init, or has the gate leave such repositories alone: git nexus harness install {harness} --scope user"
    )


def _repositories(folder: str) -> list[str]:
    """Return the tops of all worktrees that a folder lies in."""
    found, at = [], folder
    while True:
        if os.path.lexists(os.path.join(at, ".git")):
            found.append(at)
        above = os.path.dirname(at)
        if above == at:
            return found
        at = above


def _calls_us(top: str, harness: str) -> bool:
    """True if files of a worktree call our gate for a program. Those in a home do so for all its repositories."""
    if top == os.path.realpath(os.path.expanduser("~")):
        return False
    for name in _CALLED_FROM.get(harness, ()):
        with contextlib.suppress(OSError), open(os.path.join(top, name), "rb") as file:
            if f"hook harness {harness} pre_tool_use".encode() in file.read(_LARGEST) or name.endswith(".js"):
                return True
    return False


def _is_for_all(harness: str) -> bool:
    """True if the person has git nexus in all of a program's sessions."""
    for name in ("installed.json", "pending.json"):
        with contextlib.suppress(OSError, ValueError), open(os.path.join(home(), "harness", name), "rb") as file:
            value = json.load(file)
            rows = value.get("harnesses") if isinstance(value, dict) else None
            if isinstance(rows, dict) and harness in rows:
                return True
    return False
