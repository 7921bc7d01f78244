"""Files for Gemini CLI: settings.json, agents/, commands/*.toml, skills/, GEMINI.md, .geminiignore (/nexus:plan)."""

from collections.abc import Iterator
from typing import Any

from gitnexus.harness.install import signature, words
from gitnexus.harness.install.context import GATE_SECONDS, OTHER_SECONDS, InstallContext, quote_for_config
from gitnexus.harness.install.model import Block, Put, WantedFile, Whole
from gitnexus.harness.install.programs.hooked import hook_groups
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


def gemini_cli_files(kit: InstallContext) -> Iterator[WantedFile]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = kit.home("GEMINI_CLI_HOME", "") / ".gemini" if user else kit.root / ".gemini"
    command, *args = kit.server("gemini-cli")
    server = Put(("mcpServers", "nexus"), {"command": command, "args": args})
    yield WantedFile(folder / "settings.json", "json", (server, *hook_groups(kit, _hook_entry)))
    for agent in kit.catalog.agents.values():
        denied = set(kit.denied[agent.id])
        allowed = [tool for tool in (*_TOOLS, *map(kit.prefixed_tool_name, kit.tools)) if tool not in denied]
        rows = {
            "name": agent.id,
            "description": quote_for_config(agent.description.strip()),
            "kind": "local",
            "tools": f"[{', '.join(allowed)}]",
        }
        text = words.role_prompt_text(kit, agent)
        yield WantedFile(folder / "agents" / f"{agent.id}.md", "whole", (words.signed_markdown_file(rows, text),))
    for skill in kit.catalog.skills.values():
        if not skill.manual_only:  # a skill is always offered to the model here; a command is not
            yield WantedFile(folder / "skills" / skill.id / "SKILL.md", "whole", (words.skill_file(kit, skill),))
        text = words.slash_command_text(kit, skill, "{{args}}").replace("'''", "’’’")
        about = quote_for_config(skill.summary or skill.description)
        lines = f"# {signature.blank_signature()}\ndescription = {about}\nprompt = '''\n{text}'''\n"
        name = skill.id.removeprefix("nx-")
        yield WantedFile(
            folder / "commands" / "nexus" / f"{name}.toml", "whole", (Whole(signature.with_signature(lines)),)
        )
    if not user:
        yield WantedFile(kit.root / ".geminiignore", "ignore", (Block(_LET_IN),))
    yield WantedFile(
        folder / "GEMINI.md" if user else kit.root / "GEMINI.md", "markdown", (words.instructions_block(),)
    )


def _hook_entry(event: Event, line: str) -> dict[str, Any]:
    seconds = GATE_SECONDS if event == "pre_tool_use" else OTHER_SECONDS
    return {"type": "command", "name": f"git-nexus-{event}", "command": line, "timeout": seconds * 1000}
