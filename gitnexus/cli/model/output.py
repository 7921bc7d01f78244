"""Formats models: their roles, the source of their key, and the cost of a small call."""

from typing import Any

from gitnexus.base.text import one_line
from gitnexus.prompts.models import CallResult
from gitnexus.prompts.settings import ModelEndpoint, PromptSettings


def roles_using(settings: PromptSettings, name: str) -> list[str]:
    """Return the roles that use a model."""
    return [role for role, used in settings.use.items() if used == name]


def format_key_source(endpoint: ModelEndpoint) -> str:
    """Return the source of a model's key."""
    if endpoint.key_env:
        return f"key in {endpoint.key_env}"
    if endpoint.key_command:
        return f"key from {one_line(' '.join(endpoint.key_command), 60)}"
    return f"key in the keyring as {endpoint.keyring}" if endpoint.keyring else "no key"


def format_call(name: str, called: CallResult) -> str:
    """Return the cost of a small call as a sentence."""
    tokens = "tokens unknown" if called.tokens_in is None else f"{called.tokens_in} tokens in, {called.tokens_out} out"
    cost = "cost unknown: give --usd-in and --usd-out" if called.cost_usd is None else f"{called.cost_usd:.6f} USD"
    return f"{name} answered “{one_line(called.said.strip(), 60)}”: {tokens}, {cost}"


def call_as_json(called: CallResult) -> dict[str, Any]:
    """Return the cost of a small call as JSON."""
    return {
        "said": one_line(called.said.strip(), 200),
        "tokens": {"input": called.tokens_in, "output": called.tokens_out},
        "costUsd": called.cost_usd,
    }
