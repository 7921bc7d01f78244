"""The adapters, a table written by hand."""

from gitnexus.adapters.aider import Aider
from gitnexus.adapters.claude import Claude
from gitnexus.adapters.codex import Codex
from gitnexus.adapters.command import Command
from gitnexus.adapters.gemini import Gemini
from gitnexus.adapters.opencode import OpenCode
from gitnexus.adapters.protocol import Adapter
from gitnexus.adapters.scripted import Scripted
from gitnexus.base.errors import NotFound

_ALL: tuple[Adapter, ...] = (Command(), Claude(), Codex(), Gemini(), OpenCode(), Aider(), Scripted())
ADAPTERS: dict[str, Adapter] = {adapter.name: adapter for adapter in _ALL}


def adapter_named(name: str) -> Adapter:
    """Return an adapter of the table. Raises: NotFound."""
    if name not in ADAPTERS:
        raise NotFound(f"there is no agent {name[:60]!r}", hint=f"there are: {', '.join(ADAPTERS)}")
    return ADAPTERS[name]
