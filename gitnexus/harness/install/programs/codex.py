"""Files for Codex: config.toml, hooks.json, agents/*.toml, skills/, AGENTS.md. Skills are typed as $nx-plan.

Its hooks run only after the user has trusted them with /hooks; a project's files only in a trusted project.
"""

from collections.abc import Iterator
from typing import Any

from gitnexus.catalog.model import Agent
from gitnexus.harness.install import signature, words
from gitnexus.harness.install.context import GATE_SECONDS, OTHER_SECONDS, InstallContext, quote_for_config
from gitnexus.harness.install.model import Block, WantedFile, Whole
from gitnexus.harness.install.programs.hooked import hook_groups
from gitnexus.harness.model import Event


def codex_files(kit: InstallContext) -> Iterator[WantedFile]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = kit.home("CODEX_HOME", ".codex") if user else kit.root / ".codex"
    table = "\n".join(["[mcp_servers.nexus]", *_server_table_lines(kit)])
    yield WantedFile(folder / "config.toml", "toml", (Block(table, ("mcp_servers", "nexus")),))
    yield WantedFile(folder / "hooks.json", "json", tuple(hook_groups(kit, _hook_entry)), strict=True)
    for agent in kit.catalog.agents.values():
        yield WantedFile(folder / "agents" / f"{agent.id}.toml", "whole", (_role_file(kit, agent),))
    for skill in kit.catalog.skills.values():
        place = folder / "skills" / skill.id
        yield WantedFile(place / "SKILL.md", "whole", (words.skill_file(kit, skill),))
        if skill.manual_only:
            policy = f"# {signature.blank_signature()}\npolicy:\n  allow_implicit_invocation: false\n"
            yield WantedFile(place / "agents" / "openai.yaml", "whole", (Whole(signature.with_signature(policy)),))
    yield WantedFile(
        folder / "AGENTS.md" if user else kit.root / "AGENTS.md", "markdown", (words.instructions_block(),)
    )


def _hook_entry(event: Event, line: str) -> dict[str, Any]:
    # It gives the end of a session three seconds, whatever is asked for, and says so at every start.
    seconds = {"pre_tool_use": GATE_SECONDS, "session_end": 3}.get(event, OTHER_SECONDS)
    return {"type": "command", "command": line, "timeout": seconds}


def _server_table_lines(kit: InstallContext) -> list[str]:
    command, *args = kit.server("codex")
    return [f"command = {quote_for_config(command)}", f"args = [{', '.join(map(quote_for_config, args))}]"]


def _role_file(kit: InstallContext, agent: Agent) -> Whole:
    """Return the file of a role. Its own tools cannot be denied, but a sandbox, the shell and tools of servers can."""
    denied = kit.denied[agent.id]
    lines = [
        f"# {signature.blank_signature()}",
        f"name = {quote_for_config(agent.id)}",
        f"description = {quote_for_config(agent.description.strip())}",
    ]
    lines += ['sandbox_mode = "read-only"'] if "apply_patch" in denied else []
    lines += [f"developer_instructions = '''\n{words.role_prompt_text(kit, agent).replace(chr(39) * 3, '’’’')}'''", ""]
    lines += ["[features]", "shell_tool = false", "unified_exec = false", ""] if "Bash" in denied else []
    tools = [tool.removeprefix("mcp__nexus__") for tool in denied if tool.startswith("mcp__nexus__")]
    if tools:
        names = ", ".join(map(quote_for_config, tools))
        lines += ["[mcp_servers.nexus]", *_server_table_lines(kit), f"disabled_tools = [{names}]", ""]
    return Whole(signature.with_signature("\n".join(lines)))
