"""What a person must still say yes to in the program itself: read from the program's own notes, never written there."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.harness.install.jsontext import parsed
from gitnexus.harness.install.marked import toml_value
from gitnexus.harness.install.ours import is_our_hook
from gitnexus.harness.install.record import read_text

_PACKAGE = "@opencode-ai/plugin"


def json_at(path: Path) -> Any:
    """Return what a JSON file says, None if it is not there or says nothing that can be read."""
    try:
        text = read_text(path)
        node = parsed(text, str(path)) if text is not None else None
    except (Invalid, OSError):
        return None
    return node.value if node is not None else None


def toml_at(path: Path) -> dict[str, Any]:
    """Return what a TOML file says, nothing where it cannot be read."""
    try:
        return dict(toml_value(read_text(path) or "", str(path)))
    except (Invalid, OSError):
        return {}


def claude_waits(home: Path, config: Path, root: Path, *, project: bool) -> list[str]:
    """Return what Claude Code has not been told yet about a project."""
    if not project:
        return []
    told = _object(json_at(home))
    here = _object(_object(told.get("projects")).get(str(root)))
    local = _object(json_at(root / ".claude" / "settings.local.json"))
    own = _object(json_at(config / "settings.json"))
    named = [name for place in (here, local, own) for name in _list(place.get("enabledMcpjsonServers"))]
    every = any(place.get("enableAllProjectMcpServers") is True for place in (local, own))
    return [] if "nexus" in named or every else ["the MCP server waits for your yes: start claude in the project"]


def codex_waits(home: Path, folder: Path, root: Path, *, project: bool) -> list[str]:
    """Return what Codex has not been told yet: whether it may read the project's files, and which hooks it may run."""
    config = toml_at(home / "config.toml")
    waits = []
    if project:
        place = _object(_object(config.get("projects")).get(str(root)))
        if place.get("trust_level") != "trusted":
            waits.append("the project is not trusted: start codex in it and say yes")
    states = _object(_object(config.get("hooks")).get("state"))
    words = codex_hooks(folder / "hooks.json", states)
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


def codex_hooks(path: Path, states: Mapping[str, Any]) -> dict[str, str]:
    """Return our hooks in a hooks.json by Codex's key, each trusted, changed, untrusted or off.

    The hash is taken over what a hook says, as Codex does it, with its keys in order. Seen in 0.166.
    """
    found: dict[str, str] = {}
    for event, groups in _object(_object(json_at(path)).get("hooks")).items():
        label = label_of(event)
        for at, group in enumerate(_list(groups)):
            for nth, hook in enumerate(_list(_object(group).get("hooks"))):
                if not is_our_hook(hook, "codex"):
                    continue
                key = f"{path}:{label}:{at}:{nth}"
                state = _object(states.get(key))
                found[key] = _word(state, codex_hash(label, _object(group), _object(hook)))
    return found


def gemini_waits(home: Path, root: Path, environ: Mapping[str, str], *, project: bool) -> list[str]:
    """Return what Gemini CLI was not told yet: to trust the folder, and to take each role that a project brings."""
    told = _object(_object(json_at(home / ".gemini" / "acknowledgments" / "agents.json")).get(str(root)))
    roles = sorted((root / ".gemini" / "agents").glob("*.md")) if project else []
    new = [path.stem for path in roles if told.get(path.stem) != hashlib.sha256(path.read_bytes()).hexdigest()]
    asked = [f"{len(new)} roles wait for your yes: start gemini in the project"] if new else []
    return [*_untrusted_folder(home, root, environ), *asked]


def _untrusted_folder(home: Path, root: Path, environ: Mapping[str, str]) -> list[str]:
    named = environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
    rules = _object(json_at(Path(named) if named else home / ".gemini" / "trustedFolders.json"))
    for folder in (root, *root.parents):
        rule = rules.get(str(folder))
        if rule == "DO_NOT_TRUST":
            break
        if rule == "TRUST_FOLDER" or (rule == "TRUST_PARENT" and folder == root):
            return []
    return ["the folder is not trusted: start gemini in it and say yes"]


def opencode_waits(folders: Sequence[Path]) -> list[str]:
    """Return where OpenCode will first fetch its own package, as it does for any plugin; it goes on without, but late.

    It takes a folder for complete that has node_modules/ and a lock that names the package. Seen in 1.18.
    """
    bare = [folder for folder in folders if not _fetched(folder)]
    if not bare:
        return []
    return [
        f"it fetches {_PACKAGE} into {', '.join(map(str, bare))} at its next start; without a network it tries for "
        "a minute or more and then goes on without, or at once if started as: npm_config_offline=true opencode"
    ]


def _fetched(folder: Path) -> bool:
    held = _object(_object(_object(json_at(folder / "package-lock.json")).get("packages")).get(""))
    return (folder / "node_modules").is_dir() and _PACKAGE in _object(held.get("dependencies"))


def label_of(event: str) -> str:
    """Return an event as Codex spells it in a key: pre_tool_use for PreToolUse."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def codex_hash(label: str, group: Mapping[str, Any], hook: Mapping[str, Any]) -> str:
    """Return what Codex keeps when a person trusts a hook."""
    same = {"type": "command", "command": hook.get("command"), "timeout": hook.get("timeout", 600), "async": False}
    matcher = {"matcher": group["matcher"]} if "matcher" in group else {}
    text = json.dumps({"event_name": label, **matcher, "hooks": [same]}, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _word(state: Mapping[str, Any], current: str) -> str:
    if state.get("enabled") is False:
        return "off"
    held = state.get("trusted_hash")
    return "untrusted" if held is None else "trusted" if held == current else "changed"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
