"""Codex: config.toml, hooks.json, agents/*.toml, skills/, AGENTS.md. Skills are typed as $nx-plan.

Its hooks run only after the person has trusted them, with /hooks; a project's files only in a trusted project.
"""

from collections.abc import Iterator
from typing import Any

from gitnexus.catalog.model import Agent
from gitnexus.harness.install import ours, words
from gitnexus.harness.install.kit import GATE_SECONDS, OTHER_SECONDS, Kit, quoted
from gitnexus.harness.install.model import Block, Want, Whole
from gitnexus.harness.install.programs.hooked import hooks
from gitnexus.harness.model import Event


def wants(kit: Kit) -> Iterator[Want]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = kit.home("CODEX_HOME", ".codex") if user else kit.root / ".codex"
    table = "\n".join(["[mcp_servers.nexus]", *_server(kit)])
    yield Want(folder / "config.toml", "toml", (Block(table, ("mcp_servers", "nexus")),))
    yield Want(folder / "hooks.json", "json", tuple(hooks(kit, _hook)), strict=True)
    for agent in kit.catalog.agents.values():
        yield Want(folder / "agents" / f"{agent.id}.toml", "whole", (_role(kit, agent),))
    for skill in kit.catalog.skills.values():
        place = folder / "skills" / skill.id
        yield Want(place / "SKILL.md", "whole", (words.skill_file(kit, skill),))
        if skill.manual_only:
            policy = f"# {ours.mark()}\npolicy:\n  allow_implicit_invocation: false\n"
            yield Want(place / "agents" / "openai.yaml", "whole", (Whole(ours.signed(policy)),))
    yield Want(folder / "AGENTS.md" if user else kit.root / "AGENTS.md", "markdown", (words.block(),))


def _hook(event: Event, line: str) -> dict[str, Any]:
    # It gives the end of a session three seconds, whatever is asked for, and says so at every start.
    seconds = {"pre_tool_use": GATE_SECONDS, "session_end": 3}.get(event, OTHER_SECONDS)
    return {"type": "command", "command": line, "timeout": seconds}


def _server(kit: Kit) -> list[str]:
    command, *args = kit.server("codex")
    return [f"command = {quoted(command)}", f"args = [{', '.join(map(quoted, args))}]"]


def _role(kit: Kit, agent: Agent) -> Whole:
    """Return a role. A tool of its own it cannot be denied, but a sandbox, the shell, and tools of servers it can."""
    denied = kit.denied[agent.id]
    lines = [f"# {ours.mark()}", f"name = {quoted(agent.id)}", f"description = {quoted(agent.description.strip())}"]
    lines += ['sandbox_mode = "read-only"'] if "apply_patch" in denied else []
    lines += [f"developer_instructions = '''\n{words.role_text(kit, agent).replace(chr(39) * 3, '’’’')}'''", ""]
    lines += ["[features]", "shell_tool = false", "unified_exec = false", ""] if "Bash" in denied else []
    tools = [tool.removeprefix("mcp__nexus__") for tool in denied if tool.startswith("mcp__nexus__")]
    if tools:
        names = ", ".join(map(quoted, tools))
        lines += ["[mcp_servers.nexus]", *_server(kit), f"disabled_tools = [{names}]", ""]
    return Whole(ours.signed("\n".join(lines)))
