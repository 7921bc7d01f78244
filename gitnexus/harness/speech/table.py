"""The programs that call us, a table written by hand; a program is imported when it speaks."""

from importlib import import_module

from gitnexus.base.errors import NotFound
from gitnexus.harness.model import Speech

_SPEECHES = {
    "claude-code": "claude_code:ClaudeCode",
    "codex": "codex:Codex",
    "gemini-cli": "gemini_cli:GeminiCli",
    "opencode": "opencode:OpenCode",
}
NAMES: tuple[str, ...] = tuple(_SPEECHES)


def speech_of(harness: str) -> Speech:
    """Return how a program talks. Raises: NotFound."""
    if harness not in _SPEECHES:
        raise NotFound(f"there is no harness {harness[:60]!r}", hint=f"there are: {', '.join(NAMES)}")
    module, _, name = _SPEECHES[harness].partition(":")
    speech: Speech = getattr(import_module(f"gitnexus.harness.speech.{module}"), name)()
    return speech
