"""The programs that can be asked live, a table written by hand."""

from collections.abc import Callable

from gitnexus.adapters.gemini import prompt_of as gemini_prompt
from gitnexus.adapters.live.acp import AcpWire
from gitnexus.adapters.live.claude import ClaudeWire
from gitnexus.adapters.live.codex import CodexWire
from gitnexus.adapters.live.protocol import Wire
from gitnexus.adapters.opencode import prompt_of as opencode_prompt
from gitnexus.adapters.protocol import Job, below

WIRES: dict[str, Callable[[Job], Wire]] = {
    "claude": ClaudeWire,
    "codex": CodexWire,
    "gemini": lambda job: AcpWire(job, "gemini", below(job, "empty"), gemini_prompt(job)),
    "opencode": lambda job: AcpWire(job, "opencode", below(job, "empty"), opencode_prompt(job)),
}


def wire_for(name: str, job: Job) -> Wire | None:
    """Return the conversation with a program, None if it cannot be asked before each call."""
    made = WIRES.get(name)
    return made(job) if made else None
