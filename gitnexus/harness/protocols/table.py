"""The table of programs that call our hooks. A program's module is imported when that program calls."""

from importlib import import_module

from gitnexus.base.errors import NotFound
from gitnexus.harness.model import HarnessProtocol

_SPEECHES = {
    "claude-code": "claude_code:ClaudeCode",
    "codex": "codex:Codex",
    "gemini-cli": "gemini_cli:GeminiCli",
    "opencode": "opencode:OpenCode",
}
NAMES: tuple[str, ...] = tuple(_SPEECHES)


def load_harness_protocol(harness: str) -> HarnessProtocol:
    """Return the protocol of a program. Raises: NotFound."""
    if harness not in _SPEECHES:
        raise NotFound(f"there is no harness {harness[:60]!r}", hint=f"there are: {', '.join(NAMES)}")
    module, _, name = _SPEECHES[harness].partition(":")
    protocol: HarnessProtocol = getattr(import_module(f"gitnexus.harness.protocols.{module}"), name)()
    return protocol
