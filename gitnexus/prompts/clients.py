"""The table of chat clients by the interface of an endpoint."""

from collections.abc import Callable

from gitnexus.prompts.chat import ChatClient
from gitnexus.prompts.library_chat import LibraryChat
from gitnexus.prompts.ollama_chat import OllamaChat
from gitnexus.prompts.openai_chat import OpenAiChat
from gitnexus.prompts.settings import Interface, ModelEndpoint

_CLIENTS: dict[Interface, Callable[[ModelEndpoint, str], ChatClient]] = {
    "openai": OpenAiChat,
    "ollama": OllamaChat,
    "anthropic": LibraryChat,
    "gemini": LibraryChat,
}


def chat_client(endpoint: ModelEndpoint) -> ChatClient:
    """Return a client for an endpoint, with its key. Raises: Failed if the key, or a library, is missing."""
    return _CLIENTS[endpoint.interface](endpoint, endpoint.key())
