"""Changes the models in the user's own settings: add, remove, use; and makes one small call. Keys are never stored."""

import copy
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.spelling import suggest_word
from gitnexus.prompts.connection import ModelConnection
from gitnexus.prompts.library_chat import missing_library, require_library
from gitnexus.prompts.settings import ROLES, ROUTER, SECTION, Interface, ModelEndpoint, PromptSettings, check_endpoint

NAME = re.compile(r"[a-z][a-z0-9._-]{0,39}")
MODEL = "model"
_QUESTION = "Answer with the one word: ready"


class Provider(NamedTuple):
    """The address of a provider's chat completions, the usual variable for its key, and its own interface, if any."""

    url: str
    key_env: str = ""
    example: str = ""
    interface: Interface = "openai"
    own_url: str = ""


# All of these also speak chat completions; what each address is, is in the documents of its owner.
PROVIDERS: dict[str, Provider] = {
    "ollama": Provider("http://127.0.0.1:11434/v1", "", "qwen3:8b", "ollama", "http://127.0.0.1:11434"),
    "llama.cpp": Provider("http://127.0.0.1:8080/v1", "", "default"),
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5-mini"),
    "anthropic": Provider(
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "claude-sonnet-4-5",
        "anthropic",
        "https://api.anthropic.com",
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-2.5-flash",
        "gemini",
        "https://generativelanguage.googleapis.com",
    ),
    "other": Provider(""),
}


class SpokenInterface(NamedTuple):
    """The interface for a model, its usual address, and the library that is missing for a better one."""

    interface: Interface
    url: str
    missing: str = ""


def choose_interface(provider: Provider, url: str, wanted: Interface | None) -> SpokenInterface:
    """Return what is spoken with a provider: what is wanted, else its own interface if that is possible here.

    An address that ends in `/v1` or `/openai` is one of chat completions. Raises: Failed, if a library is missing.
    """
    own = provider.own_url if wanted is None or wanted == provider.interface else ""
    if wanted is not None:
        require_library(wanted)
        return SpokenInterface(wanted, own if wanted != "openai" else provider.url)
    if provider.interface == "openai" or url.rstrip("/").endswith(("/v1", "/openai")):
        return SpokenInterface("openai", provider.url)
    if missing := missing_library(provider.interface):
        return SpokenInterface("openai", provider.url, missing)
    return SpokenInterface(provider.interface, own)


class CallResult(NamedTuple):
    """The result of one small call: the text, its tokens and its cost in USD, None if unknown."""

    said: str
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


def add_model(settings: dict[str, Any], name: str, endpoint: ModelEndpoint) -> dict[str, Any]:
    """Return the user's settings with an additional model. Raises: Invalid."""
    if not NAME.fullmatch(name):
        raise Invalid(
            f"{name[:40]!r} cannot be the name of a model", hint="a letter, then a-z, 0-9, . _ and -; at most 40"
        )
    check_endpoint(endpoint, f"the model {name}")
    found = copy.deepcopy(settings)
    kept = ModelEndpoint().plain()
    plain = {key: value for key, value in endpoint.plain().items() if kept.get(key) != value}
    found.setdefault(SECTION, {}).setdefault("models", {})[name] = plain
    return found


def remove_model(settings: dict[str, Any], name: str) -> tuple[dict[str, Any], list[str]]:
    """Return the user's settings without a model, and the roles that used it. Raises: NotFound."""
    _require_model(settings, name)
    found = copy.deepcopy(settings)
    del found[SECTION]["models"][name]
    used = found[SECTION].get("use", {})
    roles = [role for role, model in used.items() if model == name]
    for role in roles:
        del used[role]
        given = found.get("workflow", {}).get("specialists", {})
        rest = _without_model(given.get(role))
        if rest:
            given[role] = rest
        else:
            given.pop(role, None)
    return found, roles


def use_model(settings: dict[str, Any], name: str, roles: Sequence[str]) -> dict[str, Any]:
    """Return the user's settings with a model for some roles; in a role's list it comes first. Raises: NotFound."""
    _require_model(settings, name)
    found = copy.deepcopy(settings)
    for role in roles:
        found[SECTION].setdefault("use", {})[role] = name
        if role == ROUTER:
            continue  # it is no specialist
        given = found.setdefault("workflow", {}).setdefault("specialists", {})
        listed = isinstance(given.get(role), list)
        mine = [row for row in given[role] if _agent_of_row(row) == MODEL] if listed else []
        given[role] = [*(mine or [MODEL]), *_without_model(given[role])] if listed else MODEL
    return found


def agents_of_role(settings: dict[str, Any], role: str) -> list[str]:
    """Return the agents that the user's settings name for a role, in their order; empty for none."""
    given = settings.get("workflow", {}).get("specialists", {}).get(role)
    rows = given if isinstance(given, list) else [given] if given else []
    return [_agent_of_row(row) for row in rows]


def _without_model(given: Any) -> list[Any]:
    """Return the rows of a role's list that are not the model; empty if there is no list."""
    return [row for row in given if _agent_of_row(row) != MODEL] if isinstance(given, list) else []


def _agent_of_row(row: Any) -> str:
    return str(row.get("agent", "")) if isinstance(row, dict) else str(row)


def free_roles(settings: dict[str, Any]) -> list[str]:
    """Return the roles without a model, which work by rule."""
    given = settings.get("workflow", {}).get("specialists", {})
    return [role for role in ROLES if given.get(role, "embedded") in ("", "embedded")]


def find_model(settings: PromptSettings, name: str) -> ModelEndpoint:
    """Return a model by its name. Raises: NotFound."""
    if name not in settings.models:
        there = ", ".join(settings.models) or "none"
        hint = suggest_word(name, settings.models, f"there is: {there}; git nexus model add sets one up")
        raise NotFound(f"there is no model {name[:40]!r}", hint=hint)
    return settings.models[name]


def call_model(endpoint: ModelEndpoint) -> CallResult:
    """Ask a model for one word, to test it. Raises: Failed, with the reason."""
    connection = ModelConnection(endpoint)
    connection.ask([{"role": "user", "content": _QUESTION}])
    cost = None
    if connection.tokens_in is not None:
        cost = endpoint.cost(connection.tokens_in, connection.tokens_out or 0)
    return CallResult(connection.said, connection.tokens_in, connection.tokens_out, cost)


def _require_model(settings: dict[str, Any], name: str) -> None:
    models = settings.get(SECTION, {}).get("models", {})
    if name not in models:
        there = ", ".join(models) or "none"
        hint = suggest_word(name, models, f"there is: {there}; git nexus model add sets one up")
        raise NotFound(f"your settings have no model {name[:40]!r}", hint=hint)
