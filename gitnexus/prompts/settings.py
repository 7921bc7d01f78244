"""Parses the `prompts` section of the settings: client library, models and endpoints. Keys are named, never stored."""

from typing import Any, Literal

from pydantic import Field

from gitnexus.base.document import Document, Many
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.spelling import suggest_word
from gitnexus.prompts.address import check_key_variable, check_model_address, is_loopback_url
from gitnexus.prompts.functions import FUNCTIONS
from gitnexus.prompts.key_sources import read_key
from gitnexus.prompts.tool_budget import ToolLimits

SECTION = "prompts"
MOST_RETRIES = 5
Via = Literal["baml", "pydantic-ai"]
# What a server speaks: chat completions as OpenAI defines them, or the interface of its own.
Interface = Literal["openai", "ollama", "anthropic", "gemini"]


ROLES = ("researcher", "planner", "executor")
# Who chooses a workflow is asked before any of them; only a model that is set for it, rules otherwise.
ROUTER = "router"
ROLE_OF_FUNCTION = {
    "Research": "researcher",
    "MakePlan": "planner",
    "PlanPatch": "planner",
    "AgendaPatch": "planner",
    "ExecStep": "executor",
    "RoutePrompt": ROUTER,
}


class ModelEndpoint(Document):
    """A model server, up to `/v1`, and what it speaks; prices are USD for a million tokens.

    `tools` is False for a model that cannot call tools: it is offered none. `max_tokens` limits an answer, and
    `context_tokens` is the size of what Ollama lets a model read; 0 is what each client thinks right.

    The key is in the variable `key_env`, in the output of `key_command`, or in the system's keyring under the account
    `keyring`.
    """

    provider: str = ""
    url: str = ""
    model: str = ""
    key_env: str = ""
    key_command: Many[str] = ()
    keyring: str = ""
    interface: Interface = "openai"
    tools: bool = True
    max_tokens: int = 0
    context_tokens: int = 0
    seconds: int = 120
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None

    @property
    def is_loopback(self) -> bool:
        """Return True if the server is on this machine."""
        return is_loopback_url(self.url)

    def key(self) -> str:
        """Return the key, empty if none is named. Raises: Failed if it cannot be read."""
        return read_key(self.key_env, self.key_command, self.keyring)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return what tokens cost in USD, None if no price is known."""
        if self.usd_per_million_in is None or self.usd_per_million_out is None:
            return None
        return (tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out) / 1_000_000


class PromptSettings(Document):
    """The whole section. `use` assigns `models` to roles; `functions` gives a function its own endpoint."""

    via: Via = "baml"
    retries: int = 2
    tools: ToolLimits = ToolLimits()
    endpoint: ModelEndpoint = ModelEndpoint()
    models: dict[str, ModelEndpoint] = Field(default_factory=dict)
    use: dict[str, str] = Field(default_factory=dict)
    functions: dict[str, ModelEndpoint] = Field(default_factory=dict)

    def router_endpoint(self) -> ModelEndpoint | None:
        """Return the model that chooses workflows, None if none is set for that."""
        return self.functions.get("RoutePrompt") or self.models.get(self.use.get(ROUTER, ""))

    def endpoint_of(self, name: str) -> ModelEndpoint:
        """Return the endpoint of a function. Raises: Failed if the settings name none."""
        role = ROLE_OF_FUNCTION.get(name, "")
        used = self.models.get(self.use.get(role, ""), self.endpoint)
        found = self.functions.get(name, used)
        if not found.url:
            raise Failed(
                f"no model is set for {name}", hint="git nexus model add sets one up", fix="git nexus model add"
            )
        return found


def parse_prompt_settings(value: Any) -> PromptSettings:
    """Return the checked settings. Raises: Invalid, naming the error."""
    where = f"settings.json: {SECTION}"
    found = PromptSettings.from_value(value, where)
    if not 0 <= found.retries <= MOST_RETRIES:
        raise Invalid(f"{where}: retries should be 0 to {MOST_RETRIES}")
    for name in found.functions:
        if name not in FUNCTIONS:
            raise Invalid(f"{where}: functions: {name[:40]} is none", hint=suggest_word(name, FUNCTIONS))
    check_endpoint(found.endpoint, f"{where}: endpoint")
    for name, one in found.models.items():
        check_endpoint(one, f"{where}: models: {name[:40]}")
        if not one.url:
            raise Invalid(f"{where}: models: {name[:40]}: url is missing")
    for role, name in found.use.items():
        if role not in (*ROLES, ROUTER):
            raise Invalid(f"{where}: use: {role[:40]} is no role", hint=suggest_word(role, (*ROLES, ROUTER)))
        if name not in found.models:
            raise Invalid(
                f"{where}: use: {role}: there is no model {name[:40]!r}",
                hint=suggest_word(name, found.models, "git nexus model list shows those that there are"),
            )
    for name, one in found.functions.items():
        check_endpoint(one, f"{where}: functions: {name}")
    return found


def check_endpoint(one: ModelEndpoint, where: str) -> None:
    """Refuse an endpoint to which no prompt may be sent. Raises: Invalid."""
    if not one.url:
        return
    check_model_address(one.url, one.model, where)
    _check_key_source(one, where)
    if not 0 <= one.max_tokens <= 10**6 or not 0 <= one.context_tokens <= 10**7:
        raise Invalid(f"{where}: maxTokens should be 0 to 1,000,000, contextTokens 0 to 10,000,000")
    if not 1 <= one.seconds <= 3600:
        raise Invalid(f"{where}: seconds should be 1 to 3600")
    if any(price is not None and not 0 <= price <= 1e6 for price in (one.usd_per_million_in, one.usd_per_million_out)):
        raise Invalid(f"{where}: a price should be between 0 and 1,000,000")


def _check_key_source(one: ModelEndpoint, where: str) -> None:
    check_key_variable(one.key_env, where)
    if sum(map(bool, (one.key_env, one.key_command, one.keyring))) > 1:
        raise Invalid(f"{where}: keyEnv, keyCommand and keyring are three ways, and one is enough")
    if len(one.keyring) > 100 or not one.keyring.isprintable():
        raise Invalid(f"{where}: keyring should be the name of an account")
