"""Files for OpenCode: opencode.json or .jsonc, plugins/ (in place of hooks), agents/, commands/, skills/, AGENTS.md."""

from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.files import expand_home
from gitnexus.catalog.model import Agent
from gitnexus.harness.install import signature, words
from gitnexus.harness.install.context import GATE_SECONDS, OTHER_SECONDS, InstallContext, quote_for_config
from gitnexus.harness.install.model import Put, WantedFile, Whole

PLUGIN = "git-nexus.js"
_SOURCE = Path(__file__).parents[2] / "data" / "opencode.js"
# Its word for every tool that changes files.
_EDITS = ("edit", "write", "apply_patch")


def opencode_files(kit: InstallContext) -> Iterator[WantedFile]:
    """Yield the files at project or user scope."""
    user = kit.scope == "user"
    folder = _config_home(kit) if user else kit.root / ".opencode"
    server = {"type": "local", "command": kit.server("opencode"), "enabled": True}
    yield WantedFile(
        _config_file(folder if user else kit.root),
        "json",
        (
            Put(("$schema",), "https://opencode.ai/config.json", only_new=True),
            Put(("mcp", "nexus"), server),
        ),
    )
    yield WantedFile(folder / "plugins" / PLUGIN, "whole", (opencode_plugin_file(kit),))
    for agent in kit.catalog.agents.values():
        yield WantedFile(folder / "agents" / f"{agent.id}.md", "whole", (_role_file(kit, agent),))
    for skill in kit.catalog.skills.values():
        rows = {"description": quote_for_config(skill.summary or skill.description)}
        text = words.slash_command_text(kit, skill, "$ARGUMENTS")
        yield WantedFile(folder / "commands" / f"{skill.id}.md", "whole", (words.signed_markdown_file(rows, text),))
        if not skill.manual_only:  # a skill is always offered to the model here; a command is not
            yield WantedFile(folder / "skills" / skill.id / "SKILL.md", "whole", (words.skill_file(kit, skill),))
    yield WantedFile(
        folder / "AGENTS.md" if user else kit.root / "AGENTS.md", "markdown", (words.instructions_block(),)
    )


def opencode_plugin_file(kit: InstallContext) -> Whole:
    """Return the plugin file, with the command line of git nexus filled in."""
    text = _SOURCE.read_text(encoding="utf-8")
    call = f"[{', '.join(map(quote_for_config, kit.call))}]"
    text = text.replace('["git", "nexus"]', call, 1).replace("GATE_SECONDS = 30", f"GATE_SECONDS = {GATE_SECONDS}", 1)
    text = text.replace("OTHER_SECONDS = 15", f"OTHER_SECONDS = {OTHER_SECONDS}", 1)
    return Whole(signature.with_signature(f"// {signature.blank_signature()}\n{text}"))


def _role_file(kit: InstallContext, agent: Agent) -> Whole:
    denied = dict.fromkeys("edit" if tool in _EDITS else tool for tool in kit.denied[agent.id])
    rows = {"description": quote_for_config(agent.description.strip()), "mode": "subagent"}
    if denied:
        rows["permission"] = "".join(f"\n  {quote_for_config(tool)}: deny" for tool in denied)
    return words.signed_markdown_file(rows, words.role_prompt_text(kit, agent))


def _config_file(folder: Path) -> Path:
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _config_home(kit: InstallContext) -> Path:
    given = kit.environ.get("OPENCODE_CONFIG_DIR")
    return expand_home(given) if given else kit.home("XDG_CONFIG_HOME", ".config") / "opencode"
