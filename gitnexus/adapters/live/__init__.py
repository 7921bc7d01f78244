"""Live adapters: for programs that ask before each tool call and wait for the answer."""

from gitnexus.adapters.live.protocol import LineOutcome, LiveConversation, PendingCall
from gitnexus.adapters.live.table import CONVERSATIONS, conversation_for

__all__ = ["CONVERSATIONS", "LineOutcome", "LiveConversation", "PendingCall", "conversation_for"]
