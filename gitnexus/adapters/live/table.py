"""The table of programs that support a live conversation."""

from collections.abc import Callable

from gitnexus.adapters.gemini import prompt_with_folder as gemini_prompt
from gitnexus.adapters.live.acp import AcpConversation
from gitnexus.adapters.live.claude import ClaudeConversation
from gitnexus.adapters.live.codex import CodexConversation
from gitnexus.adapters.live.protocol import LiveConversation
from gitnexus.adapters.opencode import prompt_with_folder as opencode_prompt
from gitnexus.adapters.protocol import AgentJob, private_path

CONVERSATIONS: dict[str, Callable[[AgentJob], LiveConversation]] = {
    "claude": ClaudeConversation,
    "codex": CodexConversation,
    "gemini": lambda job: AcpConversation(job, "gemini", private_path(job, "empty"), gemini_prompt(job)),
    "opencode": lambda job: AcpConversation(job, "opencode", private_path(job, "empty"), opencode_prompt(job)),
}


def conversation_for(name: str, job: AgentJob) -> LiveConversation | None:
    """Return the conversation with a program, None if it cannot be asked before each call."""
    made = CONVERSATIONS.get(name)
    return made(job) if made else None
