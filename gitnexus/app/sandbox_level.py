"""The level of the sandbox in force, for a line on a screen: as it was found out since the machine started.

Only for show. Who runs something tries the levels: what lies in a cache must not decide how well a command is confined.
"""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.canonical import document, parse
from gitnexus.base.errors import NexusError
from gitnexus.base.files import replace
from gitnexus.state.home import home_folder
from gitnexus.state.store import State

if TYPE_CHECKING:
    from gitnexus.policy.model import Level
    from gitnexus.policy.rules import SandboxLevel


def level_told(state: State) -> str:
    """Return the level at which commands would run now, or why none would. Raises: Invalid for a broken policy."""
    setting, minimum = _asked(state)
    key = [setting, minimum, *_machine()]
    file = home_folder() / "cache" / "sandbox.json"
    with contextlib.suppress(OSError, NexusError, ValueError):
        known = parse(file.read_bytes())
        if isinstance(known, dict) and known.get("key") == key and isinstance(known.get("level"), str):
            return str(known["level"])
    from gitnexus.sandbox.levels import chosen  # runs something at each level: 100 ms, once for each start of a machine

    try:
        level: str = chosen(setting, minimum)
    except NexusError as exc:
        return f"none: {exc.message}"
    with contextlib.suppress(OSError):
        replace(file, document({"key": key, "level": level}), 0o600)
    return level


def _asked(state: State) -> "tuple[SandboxLevel, Level]":
    """Return what the policies ask for; they are only understood if one of them speaks of it, for that takes time."""
    mine = home_folder() / "policy.md"
    texts = (state.latest().read("policy.md") or b"", mine.read_bytes() if mine.is_file() else b"")
    if not any(b"sandbox" in text for text in texts):
        return "auto", "L0"
    from gitnexus.app.policy import policy_here

    law = policy_here(state).law
    return law.level, law.minimum


def _machine() -> list[str]:
    """Return what the answer depends on: this start of the kernel, the user, and whether bubblewrap is there."""
    found = [os.uname().release, str(os.getuid())]
    with contextlib.suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    for path in ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"):
        with contextlib.suppress(OSError):
            found.append(f"{path} {os.stat(path).st_mtime_ns}")
    return found
