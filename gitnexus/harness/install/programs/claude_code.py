"""Claude Code: settings.json, .mcp.json (for a person ~/.claude.json), agents/, skills/, CLAUDE.md; or a plugin folder.

A skill is a slash command as well: /nx-plan.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitnexus import __version__
from gitnexus.harness.install import ours, words
from gitnexus.harness.install.kit import GATE_SECONDS, OTHER_SECONDS, Kit, quoted
from gitnexus.harness.install.model import Put, Want, Whole
from gitnexus.harness.install.programs.hooked import hooks
from gitnexus.harness.model import Event

_PLUGIN = "git-nexus"


def wants(kit: Kit) -> Iterator[Want]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = kit.home("CLAUDE_CONFIG_DIR", ".claude") if user else kit.root / ".claude"
    yield Want(folder / "settings.json", "json", tuple(hooks(kit, _hook)), strict=True)
    moved = user and kit.environ.get("CLAUDE_CONFIG_DIR")
    servers = (folder if moved else kit.root) / ".claude.json" if user else kit.root / ".mcp.json"
    yield Want(servers, "json", (Put(("mcpServers", "nexus"), _server(kit)),), strict=True)
    yield from _folders(kit, folder)
    yield Want(folder / "CLAUDE.md" if user else kit.root / "CLAUDE.md", "markdown", (words.block(),))


def plugin(kit: Kit, folder: Path) -> Iterator[Want]:
    """Yield the files of a plugin: all of it in one folder, to be loaded or given to others."""
    kit = replace(kit, denied={role: tuple(map(_in_plugin, tools)) for role, tools in kit.denied.items()})
    about = {
        "name": _PLUGIN,
        "version": __version__,
        "author": {"name": "git nexus"},
        "description": f"Plan, tasks, memory, roles and the gate of git nexus; {ours.mark()}",
    }
    yield _json(folder / ".claude-plugin" / "plugin.json", about)
    events: dict[str, list[Any]] = {}
    for group in hooks(kit, _hook):
        events.setdefault(group.keys[-1], []).append(group.value)
    yield _json(folder / "hooks" / "hooks.json", {"description": ours.mark(), "hooks": events})
    # .mcp.json knows no field for a mark: it is only read by its entry.
    yield Want(folder / ".mcp.json", "json", (Put(("mcpServers", "nexus"), _server(kit)),))
    yield from _folders(kit, folder)
    for skill in kit.catalog.skills.values():
        rows = {"description": quoted(skill.summary or skill.description), "argument-hint": quoted("[the matter]")}
        short = skill.id.removeprefix("nx-")
        text = words.command_text(kit, skill, "$ARGUMENTS")
        yield Want(folder / "commands" / f"{short}.md", "whole", (words.front(rows, text),))


def _folders(kit: Kit, folder: Path) -> Iterator[Want]:
    for agent in kit.catalog.agents.values():
        denied = kit.denied[agent.id]
        rows = {"name": agent.id, "description": quoted(agent.description.strip())}
        rows |= {"disallowedTools": ", ".join(denied)} if denied else {}
        text = words.role_text(kit, agent)
        yield Want(folder / "agents" / f"{agent.id}.md", "whole", (words.front(rows, text),))
    for skill in kit.catalog.skills.values():
        more = {"disable-model-invocation": "true"} if skill.manual_only else {}
        yield Want(folder / "skills" / skill.id / "SKILL.md", "whole", (words.skill_file(kit, skill, **more),))


def _hook(event: Event, line: str) -> dict[str, Any]:
    gate = event == "pre_tool_use"
    hook = {"type": "command", "command": line, "timeout": GATE_SECONDS if gate else OTHER_SECONDS}
    return {**hook, "onFailure": "block"} if gate else hook


def _server(kit: Kit) -> dict[str, Any]:
    command, *args = kit.server("claude-code")
    return {"command": command, "args": args}


def _in_plugin(tool: str) -> str:
    return tool.replace("mcp__nexus__", f"mcp__plugin_{_PLUGIN}_nexus__")


def _json(path: Path, value: dict[str, Any]) -> Want:
    return Want(path, "whole", (Whole(ours.signed(json.dumps(value, indent=2, ensure_ascii=False) + "\n")),))
