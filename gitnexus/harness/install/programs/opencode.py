"""OpenCode: opencode.json or .jsonc, plugins/, agents/, commands/, skills/, AGENTS.md. A plugin stands for hooks."""

from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.files import expand_home
from gitnexus.catalog.model import Agent
from gitnexus.harness.install import ours, words
from gitnexus.harness.install.kit import GATE_SECONDS, OTHER_SECONDS, Kit, quoted
from gitnexus.harness.install.model import Put, Want, Whole

PLUGIN = "git-nexus.js"
_SOURCE = Path(__file__).parents[2] / "data" / "opencode.js"
# Its word for every tool that changes files.
_EDITS = ("edit", "write", "apply_patch")


def wants(kit: Kit) -> Iterator[Want]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = _config_home(kit) if user else kit.root / ".opencode"
    server = {"type": "local", "command": kit.server("opencode"), "enabled": True}
    yield Want(
        _config(folder if user else kit.root),
        "json",
        (
            Put(("$schema",), "https://opencode.ai/config.json", only_new=True),
            Put(("mcp", "nexus"), server),
        ),
    )
    yield Want(folder / "plugins" / PLUGIN, "whole", (plugin_text(kit),))
    for agent in kit.catalog.agents.values():
        yield Want(folder / "agents" / f"{agent.id}.md", "whole", (_role(kit, agent),))
    for skill in kit.catalog.skills.values():
        rows = {"description": quoted(skill.summary or skill.description)}
        text = words.command_text(kit, skill, "$ARGUMENTS")
        yield Want(folder / "commands" / f"{skill.id}.md", "whole", (words.front(rows, text),))
        if not skill.manual_only:  # a skill is always offered to the model here; a command is not
            yield Want(folder / "skills" / skill.id / "SKILL.md", "whole", (words.skill_file(kit, skill),))
    yield Want(folder / "AGENTS.md" if user else kit.root / "AGENTS.md", "markdown", (words.block(),))


def plugin_text(kit: Kit) -> Whole:
    """Return the plugin, with how we are called from here."""
    text = _SOURCE.read_text(encoding="utf-8")
    call = f"[{', '.join(map(quoted, kit.call))}]"
    text = text.replace('["git", "nexus"]', call, 1).replace("GATE_SECONDS = 30", f"GATE_SECONDS = {GATE_SECONDS}", 1)
    text = text.replace("OTHER_SECONDS = 15", f"OTHER_SECONDS = {OTHER_SECONDS}", 1)
    return Whole(ours.signed(f"// {ours.mark()}\n{text}"))


def _role(kit: Kit, agent: Agent) -> Whole:
    denied = dict.fromkeys("edit" if tool in _EDITS else tool for tool in kit.denied[agent.id])
    rows = {"description": quoted(agent.description.strip()), "mode": "subagent"}
    if denied:
        rows["permission"] = "".join(f"\n  {quoted(tool)}: deny" for tool in denied)
    return words.front(rows, words.role_text(kit, agent))


def _config(folder: Path) -> Path:
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _config_home(kit: Kit) -> Path:
    given = kit.environ.get("OPENCODE_CONFIG_DIR")
    return expand_home(given) if given else kit.home("XDG_CONFIG_HOME", ".config") / "opencode"
