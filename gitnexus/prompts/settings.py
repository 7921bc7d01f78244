"""The part `prompts` of the settings: which way to ask, and where the models are. Keys are named, never written."""

import os
import re
from dataclasses import field
from typing import Any, Literal
from urllib.parse import urlsplit

from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.record import Record
from gitnexus.prompts.functions import FUNCTIONS

SECTION = "prompts"
MOST_RETRIES = 5
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
Via = Literal["baml", "pydantic-ai"]


class Endpoint(Record):
    """An OpenAI-compatible server, up to `/v1`. `key_env` is the name of a variable; prices are USD for a million."""

    url: str = ""
    model: str = ""
    key_env: str = ""
    seconds: int = 120
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None

    @property
    def is_loopback(self) -> bool:
        """True if it is of this machine."""
        return urlsplit(self.url).hostname in _LOOPBACK

    def key(self) -> str:
        """Return the key, empty if none is named. Raises: Failed where the variable is not set."""
        if not self.key_env:
            return ""
        found = os.environ.get(self.key_env, "").strip()
        if not found:
            raise Failed(f"{self.key_env} is not set", hint="prompts.endpoint.keyEnv names the variable of the key")
        if not found.isascii() or not found.isprintable():
            raise Failed(f"{self.key_env} holds no key: it has characters that no header takes")
        return found

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return what tokens cost in USD, None if no price is known."""
        if self.usd_per_million_in is None or self.usd_per_million_out is None:
            return None
        return (tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out) / 1_000_000


class PromptSettings(Record):
    """All of the part. `functions` gives some functions an endpoint of their own."""

    via: Via = "baml"
    retries: int = 2
    endpoint: Endpoint = field(default_factory=Endpoint)
    functions: dict[str, Endpoint] = field(default_factory=dict)

    def endpoint_of(self, name: str) -> Endpoint:
        """Return where a function is asked. Raises: Failed where nobody said."""
        found = self.functions.get(name, self.endpoint)
        if not found.url:
            raise Failed(
                f"no model is set for {name}",
                hint='write {"prompts": {"endpoint": {"url": "http://127.0.0.1:11434/v1", "model": "NAME"}}} into '
                "settings.json in $NEXUS_HOME",
            )
        return found


def settings_of(value: Any) -> PromptSettings:
    """Return the checked settings. Raises: Invalid, naming what is wrong."""
    where = f"settings.json: {SECTION}"
    found = PromptSettings.from_value(value, where)
    if not 0 <= found.retries <= MOST_RETRIES:
        raise Invalid(f"{where}: retries should be 0 to {MOST_RETRIES}")
    for name in found.functions:
        if name not in FUNCTIONS:
            raise Invalid(f"{where}: functions: {name[:40]} is none", hint=f"there are: {', '.join(FUNCTIONS)}")
    check_endpoint(found.endpoint, f"{where}: endpoint")
    for name, one in found.functions.items():
        check_endpoint(one, f"{where}: functions: {name}")
    return found


def check_endpoint(one: Endpoint, where: str) -> None:
    """Refuse an endpoint to which no prompt should go. Raises: Invalid."""
    if not one.url:
        return
    try:
        url = urlsplit(one.url)
        port = url.port
    except ValueError as exc:
        raise Invalid(f"{where}: url: {exc}") from exc
    if url.scheme not in ("http", "https") or not url.hostname or port == 0 or not one.url.isprintable():
        raise Invalid(f"{where}: url should begin with http:// or https://, and name a host")
    if url.username is not None or url.password is not None or url.query or url.fragment or " " in one.url:
        raise Invalid(
            f"{where}: url should hold no name, password, ?, # or blank", hint="keyEnv names a key's variable"
        )
    if url.scheme == "http" and url.hostname not in _LOOPBACK:
        raise Invalid(f"{where}: without https only this machine is asked", hint="prompts would go out in the clear")
    if not 0 < len(one.model) <= 200 or not one.model.isprintable():
        raise Invalid(f"{where}: model should name a model")
    if one.key_env and not _VARIABLE.fullmatch(one.key_env):
        raise Invalid(f"{where}: keyEnv should be the name of a variable, as in OPENAI_API_KEY",
                      hint="the key itself never stands in a file of ours")  # fmt: skip
    if not 1 <= one.seconds <= 3600:
        raise Invalid(f"{where}: seconds should be 1 to 3600")
    if any(price is not None and not 0 <= price <= 1e6 for price in (one.usd_per_million_in, one.usd_per_million_out)):
        raise Invalid(f"{where}: a price should be between 0 and 1,000,000")
