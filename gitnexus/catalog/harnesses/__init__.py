"""The table of harnesses: maps what a capability denies to the names of the tools in each of them.

The names are those that Claude Code 2.1, Codex 0.166, Gemini CLI 0.61 and OpenCode 1.18 send to a model; for tools of a
terminal or another system only, they come from the programs themselves.
"""

from gitnexus.base.errors import NotFound
from gitnexus.catalog.harnesses.claude_code import CLAUDE_CODE
from gitnexus.catalog.harnesses.codex import CODEX
from gitnexus.catalog.harnesses.gemini_cli import GEMINI_CLI
from gitnexus.catalog.harnesses.git_nexus import GIT_NEXUS
from gitnexus.catalog.harnesses.harness import KNOWN_CLASSES, TOPICS, AbsentTool, Harness, ReadTool
from gitnexus.catalog.harnesses.opencode import OPENCODE

HARNESSES: dict[str, Harness] = {
    harness.id: harness for harness in (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, GIT_NEXUS)
}

__all__ = ["HARNESSES", "KNOWN_CLASSES", "TOPICS", "AbsentTool", "Harness", "ReadTool", "find_harness"]


def find_harness(name: str) -> Harness:
    """Return a harness of the table. Raises: NotFound."""
    if name not in HARNESSES:
        raise NotFound(f"there is no harness {name[:60]!r}", hint=f"there are: {', '.join(HARNESSES)}")
    return HARNESSES[name]
