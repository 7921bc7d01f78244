"""Lists what the user must still approve in the program itself, read from the program's own files. Read-only."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.harness.install.jsontext import parse_json_text
from gitnexus.harness.install.marked import parse_toml_text
from gitnexus.harness.install.record import read_text_or_none
from gitnexus.harness.install.signature import is_our_hook

_PACKAGE = "@opencode-ai/plugin"


def read_json_or_none(path: Path) -> Any:
    """Return the value of a JSON file, None if it is missing or unreadable."""
    try:
        text = read_text_or_none(path)
        node = parse_json_text(text, str(path)) if text is not None else None
    except (Invalid, OSError):
        return None
    return node.value if node is not None else None


def read_toml_or_empty(path: Path) -> dict[str, Any]:
    """Return the value of a TOML file, empty if it is missing or unreadable."""
    try:
        return dict(parse_toml_text(read_text_or_none(path) or "", str(path)))
    except (Invalid, OSError):
        return {}


def claude_trust_waits(home: Path, config: Path, root: Path, *, project: bool) -> list[str]:
    """Return what the user has not approved yet in Claude Code for a project."""
    if not project:
        return []
    told = _mapping_or_empty(read_json_or_none(home))
    here = _mapping_or_empty(_mapping_or_empty(told.get("projects")).get(str(root)))
    local = _mapping_or_empty(read_json_or_none(root / ".claude" / "settings.local.json"))
    own = _mapping_or_empty(read_json_or_none(config / "settings.json"))
    named = [name for place in (here, local, own) for name in _list_or_empty(place.get("enabledMcpjsonServers"))]
    every = any(place.get("enableAllProjectMcpServers") is True for place in (local, own))
    return (
        [] if "nexus" in named or every else ["the MCP server waits for your confirmation: start claude in the project"]
    )


def codex_trust_waits(home: Path, folder: Path, root: Path, *, project: bool) -> list[str]:
    """Return what the user has not approved yet in Codex: the project's files, and hooks."""
    config = read_toml_or_empty(home / "config.toml")
    waits = []
    if project:
        place = _mapping_or_empty(_mapping_or_empty(config.get("projects")).get(str(root)))
        if place.get("trust_level") != "trusted":
            waits.append("the project is not trusted: start codex in it and confirm")
    states = _mapping_or_empty(_mapping_or_empty(config.get("hooks")).get("state"))
    words = codex_hook_states(folder / "hooks.json", states)
    open_ = [key for key, word in words.items() if word == "untrusted"]
    changed = [key for key, word in words.items() if word == "changed"]
    off = [key for key, word in words.items() if word == "off"]
    if open_:
        waits.append(f"{len(open_)} of {len(words)} hooks are untrusted and do not run: start codex and open /hooks")
    if changed:
        waits.append(f"{len(changed)} hooks changed since you trusted them: start codex and open /hooks")
    if off:
        waits.append(f"{len(off)} hooks are switched off: start codex and open /hooks")
    return waits


def codex_hook_states(path: Path, states: Mapping[str, Any]) -> dict[str, str]:
    """Return our hooks in a hooks.json by Codex's key, each trusted, changed, untrusted or off.

    The hash covers the hook's content with sorted keys, as Codex computes it. Tested with 0.166.
    """
    found: dict[str, str] = {}
    for event, groups in _mapping_or_empty(_mapping_or_empty(read_json_or_none(path)).get("hooks")).items():
        label = codex_event_label(event)
        for at, group in enumerate(_list_or_empty(groups)):
            for nth, hook in enumerate(_list_or_empty(_mapping_or_empty(group).get("hooks"))):
                if not is_our_hook(hook, "codex"):
                    continue
                key = f"{path}:{label}:{at}:{nth}"
                state = _mapping_or_empty(states.get(key))
                found[key] = _hook_trust_state(
                    state, codex_hook_hash(label, _mapping_or_empty(group), _mapping_or_empty(hook))
                )
    return found


def gemini_trust_waits(home: Path, root: Path, environ: Mapping[str, str], *, project: bool) -> list[str]:
    """Return what the user has not approved yet in Gemini CLI: the folder, and each role of the project."""
    told = _mapping_or_empty(
        _mapping_or_empty(read_json_or_none(home / ".gemini" / "acknowledgments" / "agents.json")).get(str(root))
    )
    roles = sorted((root / ".gemini" / "agents").glob("*.md")) if project else []
    new = [path.stem for path in roles if told.get(path.stem) != hashlib.sha256(path.read_bytes()).hexdigest()]
    asked = [f"{len(new)} roles wait for your confirmation: start gemini in the project"] if new else []
    return [*_untrusted_folder_waits(home, root, environ), *asked]


def _untrusted_folder_waits(home: Path, root: Path, environ: Mapping[str, str]) -> list[str]:
    named = environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
    rules = _mapping_or_empty(read_json_or_none(Path(named) if named else home / ".gemini" / "trustedFolders.json"))
    for folder in (root, *root.parents):
        rule = rules.get(str(folder))
        if rule == "DO_NOT_TRUST":
            break
        if rule == "TRUST_FOLDER" or (rule == "TRUST_PARENT" and folder == root):
            return []
    return ["the folder is not trusted: start gemini in it and confirm"]


def opencode_package_waits(folders: Sequence[Path]) -> list[str]:
    """Return the folders for which OpenCode will first download its own package, as for any plugin; it starts late.

    OpenCode treats a folder as complete that has node_modules/ and a lock naming the package. Tested with 1.18.
    """
    bare = [folder for folder in folders if not _has_plugin_package(folder)]
    if not bare:
        return []
    return [
        f"it downloads {_PACKAGE} into {', '.join(map(str, bare))} at its next start; without a network it tries for "
        "a minute or more and then continues without it; npm_config_offline=true opencode starts at once"
    ]


def _has_plugin_package(folder: Path) -> bool:
    held = _mapping_or_empty(
        _mapping_or_empty(_mapping_or_empty(read_json_or_none(folder / "package-lock.json")).get("packages")).get("")
    )
    return (folder / "node_modules").is_dir() and _PACKAGE in _mapping_or_empty(held.get("dependencies"))


def codex_event_label(event: str) -> str:
    """Return an event as Codex spells it in a key: pre_tool_use for PreToolUse."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def codex_hook_hash(label: str, group: Mapping[str, Any], hook: Mapping[str, Any]) -> str:
    """Return the hash that Codex stores when a user trusts a hook."""
    same = {"type": "command", "command": hook.get("command"), "timeout": hook.get("timeout", 600), "async": False}
    matcher = {"matcher": group["matcher"]} if "matcher" in group else {}
    text = json.dumps({"event_name": label, **matcher, "hooks": [same]}, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _hook_trust_state(state: Mapping[str, Any], current: str) -> str:
    if state.get("enabled") is False:
        return "off"
    held = state.get("trusted_hash")
    return "untrusted" if held is None else "trusted" if held == current else "changed"


def _mapping_or_empty(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
