"""Gemini CLI: settings.json, agents/, commands/*.toml, skills/, GEMINI.md, .geminiignore. Commands are /nexus:plan."""

from collections.abc import Iterator
from typing import Any

from gitnexus.harness.install import ours, words
from gitnexus.harness.install.kit import GATE_SECONDS, OTHER_SECONDS, Kit, quoted
from gitnexus.harness.install.model import Block, Put, Want, Whole
from gitnexus.harness.install.programs.hooked import hooks
from gitnexus.harness.model import Event

# A role's tools are a list of what it may call: these, less what it may not. One name that it does not know, and it
# passes over the role. Seen in 0.61.
_TOOLS = (
    *("run_shell_command", "glob", "grep_search"),
    *("list_directory", "read_file", "read_many_files", "replace", "write_file", "ask_user", "write_todos"),
    *(
        "list_mcp_resources",
        "read_mcp_resource",
        "activate_skill",
        "get_internal_docs",
        "google_web_search",
        "web_fetch",
    ),
)
# Its tools keep away from what git ignores, and git ignores .nexus/. What agents may know is let in again, the rest of
# it stays out, and so does everything else that git ignores. The file counts in the folder of a project alone.
_LET_IN = "!/.nexus/\n/.nexus/*\n!/.nexus/memory/\n!/.nexus/context/\n!/.nexus/rules/"


def wants(kit: Kit) -> Iterator[Want]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = kit.home("GEMINI_CLI_HOME", "") / ".gemini" if user else kit.root / ".gemini"
    command, *args = kit.server("gemini-cli")
    server = Put(("mcpServers", "nexus"), {"command": command, "args": args})
    yield Want(folder / "settings.json", "json", (server, *hooks(kit, _hook)))
    for agent in kit.catalog.agents.values():
        denied = set(kit.denied[agent.id])
        allowed = [tool for tool in (*_TOOLS, *map(kit.prefixed, kit.tools)) if tool not in denied]
        rows = {
            "name": agent.id,
            "description": quoted(agent.description.strip()),
            "kind": "local",
            "tools": f"[{', '.join(allowed)}]",
        }
        text = words.role_text(kit, agent)
        yield Want(folder / "agents" / f"{agent.id}.md", "whole", (words.front(rows, text),))
    for skill in kit.catalog.skills.values():
        if not skill.manual_only:  # a skill is always offered to the model here; a command is not
            yield Want(folder / "skills" / skill.id / "SKILL.md", "whole", (words.skill_file(kit, skill),))
        text = words.command_text(kit, skill, "{{args}}").replace("'''", "’’’")
        about = quoted(skill.summary or skill.description)
        lines = f"# {ours.mark()}\ndescription = {about}\nprompt = '''\n{text}'''\n"
        name = skill.id.removeprefix("nx-")
        yield Want(folder / "commands" / "nexus" / f"{name}.toml", "whole", (Whole(ours.signed(lines)),))
    if not user:
        yield Want(kit.root / ".geminiignore", "ignore", (Block(_LET_IN),))
    yield Want(folder / "GEMINI.md" if user else kit.root / "GEMINI.md", "markdown", (words.block(),))


def _hook(event: Event, line: str) -> dict[str, Any]:
    seconds = GATE_SECONDS if event == "pre_tool_use" else OTHER_SECONDS
    return {"type": "command", "name": f"git-nexus-{event}", "command": line, "timeout": seconds * 1000}
