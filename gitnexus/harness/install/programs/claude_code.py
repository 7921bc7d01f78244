"""Files for Claude Code: settings.json, .mcp.json or ~/.claude.json, agents/, skills/, CLAUDE.md; or a plugin folder.

A skill is also a slash command: /nx-plan.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitnexus import __version__
from gitnexus.harness.install import signature, words
from gitnexus.harness.install.context import GATE_SECONDS, OTHER_SECONDS, InstallContext, quote_for_config
from gitnexus.harness.install.model import Put, WantedFile, Whole
from gitnexus.harness.install.programs.hooked import hook_groups
from gitnexus.harness.model import Event

_PLUGIN = "git-nexus"


def claude_code_files(kit: InstallContext) -> Iterator[WantedFile]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = kit.home("CLAUDE_CONFIG_DIR", ".claude") if user else kit.root / ".claude"
    yield WantedFile(folder / "settings.json", "json", tuple(hook_groups(kit, _hook_entry)), strict=True)
    moved = user and kit.environ.get("CLAUDE_CONFIG_DIR")
    servers = (folder if moved else kit.root) / ".claude.json" if user else kit.root / ".mcp.json"
    yield WantedFile(servers, "json", (Put(("mcpServers", "nexus"), _server_entry(kit)),), strict=True)
    yield from _agent_and_skill_files(kit, folder)
    yield WantedFile(
        folder / "CLAUDE.md" if user else kit.root / "CLAUDE.md", "markdown", (words.instructions_block(),)
    )


def claude_plugin_files(kit: InstallContext, folder: Path) -> Iterator[WantedFile]:
    """Yield the files of a plugin, all in one folder, to be loaded or shared."""
    kit = replace(kit, denied={role: tuple(map(_plugin_tool_name, tools)) for role, tools in kit.denied.items()})
    about = {
        "name": _PLUGIN,
        "version": __version__,
        "author": {"name": "git nexus"},
        "description": f"Plan, tasks, memory, roles and the gate of git nexus; {signature.blank_signature()}",
    }
    yield _signed_json_file(folder / ".claude-plugin" / "plugin.json", about)
    events: dict[str, list[Any]] = {}
    for group in hook_groups(kit, _hook_entry):
        events.setdefault(group.keys[-1], []).append(group.value)
    yield _signed_json_file(
        folder / "hooks" / "hooks.json", {"description": signature.blank_signature(), "hooks": events}
    )
    # .mcp.json knows no field for a mark: it is only read by its entry.
    yield WantedFile(folder / ".mcp.json", "json", (Put(("mcpServers", "nexus"), _server_entry(kit)),))
    yield from _agent_and_skill_files(kit, folder)
    for skill in kit.catalog.skills.values():
        rows = {
            "description": quote_for_config(skill.summary or skill.description),
            "argument-hint": quote_for_config("[the matter]"),
        }
        short = skill.id.removeprefix("nx-")
        text = words.slash_command_text(kit, skill, "$ARGUMENTS")
        yield WantedFile(folder / "commands" / f"{short}.md", "whole", (words.signed_markdown_file(rows, text),))


def _agent_and_skill_files(kit: InstallContext, folder: Path) -> Iterator[WantedFile]:
    for agent in kit.catalog.agents.values():
        denied = kit.denied[agent.id]
        rows = {"name": agent.id, "description": quote_for_config(agent.description.strip())}
        rows |= {"disallowedTools": ", ".join(denied)} if denied else {}
        text = words.role_prompt_text(kit, agent)
        yield WantedFile(folder / "agents" / f"{agent.id}.md", "whole", (words.signed_markdown_file(rows, text),))
    for skill in kit.catalog.skills.values():
        more = {"disable-model-invocation": "true"} if skill.manual_only else {}
        yield WantedFile(folder / "skills" / skill.id / "SKILL.md", "whole", (words.skill_file(kit, skill, **more),))


def _hook_entry(event: Event, line: str) -> dict[str, Any]:
    gate = event == "pre_tool_use"
    hook = {"type": "command", "command": line, "timeout": GATE_SECONDS if gate else OTHER_SECONDS}
    return {**hook, "onFailure": "block"} if gate else hook


def _server_entry(kit: InstallContext) -> dict[str, Any]:
    command, *args = kit.server("claude-code")
    return {"command": command, "args": args}


def _plugin_tool_name(tool: str) -> str:
    return tool.replace("mcp__nexus__", f"mcp__plugin_{_PLUGIN}_nexus__")


def _signed_json_file(path: Path, value: dict[str, Any]) -> WantedFile:
    return WantedFile(
        path, "whole", (Whole(signature.with_signature(json.dumps(value, indent=2, ensure_ascii=False) + "\n")),)
    )
