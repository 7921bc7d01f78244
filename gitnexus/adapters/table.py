"""The table of adapters by name."""

from gitnexus.adapters.aider import AiderAdapter
from gitnexus.adapters.claude import ClaudeAdapter
from gitnexus.adapters.codex import CodexAdapter
from gitnexus.adapters.command import CommandAdapter
from gitnexus.adapters.gemini import GeminiAdapter
from gitnexus.adapters.opencode import OpenCodeAdapter
from gitnexus.adapters.protocol import Adapter
from gitnexus.adapters.scripted import ScriptedAdapter
from gitnexus.base.errors import NotFound

_ALL: tuple[Adapter, ...] = (
    CommandAdapter(),
    ClaudeAdapter(),
    CodexAdapter(),
    GeminiAdapter(),
    OpenCodeAdapter(),
    AiderAdapter(),
    ScriptedAdapter(),
)
ADAPTERS: dict[str, Adapter] = {adapter.name: adapter for adapter in _ALL}


def find_adapter(name: str) -> Adapter:
    """Return an adapter of the table. Raises: NotFound."""
    if name not in ADAPTERS:
        raise NotFound(f"there is no agent {name[:60]!r}", hint=f"there are: {', '.join(ADAPTERS)}")
    return ADAPTERS[name]
