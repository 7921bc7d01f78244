"""Returns the sandbox level in force for display, cached per machine start.

For display only: a command that runs tests the levels itself, because a cache must not decide how it is confined.
"""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import NexusError
from gitnexus.base.files import replace_file
from gitnexus.state.home import home_folder
from gitnexus.state.store import State

if TYPE_CHECKING:
    from gitnexus.policy.model import Level
    from gitnexus.policy.rules import SandboxLevel


def describe_sandbox_level(state: State) -> str:
    """Return the level of commands started now, or why none would start. Raises: Invalid for a broken policy."""
    setting, minimum = _requested_level(state)
    key = [setting, minimum, *_machine_facts()]
    file = home_folder() / "cache" / "sandbox.json"
    with contextlib.suppress(OSError, NexusError, ValueError):
        known = parse_json(file.read_bytes())
        if isinstance(known, dict) and known.get("key") == key and isinstance(known.get("level"), str):
            return str(known["level"])

    from gitnexus.sandbox.levels import choose_level  # nearly every call finds the level in the cache

    try:
        level: str = choose_level(setting, minimum)
    except NexusError as exc:
        return f"none: {exc.message}"
    with contextlib.suppress(OSError):
        replace_file(file, json_document({"key": key, "level": level}), 0o600, durable=False)
    return level


def _requested_level(state: State) -> "tuple[SandboxLevel, Level]":
    """Return the level that the policies require; they are parsed only if one mentions it, because parsing is slow."""
    mine = home_folder() / "policy.md"
    texts = (state.latest().read("policy.md") or b"", mine.read_bytes() if mine.is_file() else b"")
    if not any(b"sandbox" in text for text in texts):
        return "auto", "L0"
    from gitnexus.policy.in_force import read_policy_in_force

    policy = read_policy_in_force(state).compiled
    return policy.level, policy.minimum


def _machine_facts() -> list[str]:
    """Return the facts that determine the level: kernel boot, user, and whether bubblewrap exists."""
    found = [os.uname().release, str(os.getuid())]
    with contextlib.suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    for path in ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"):
        with contextlib.suppress(OSError):
            found.append(f"{path} {os.stat(path).st_mtime_ns}")
    return found
