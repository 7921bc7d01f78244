"""Checks where a prompt may be sent: the address of a model server, the name of the model, the variable of its key."""

import re
from urllib.parse import urlsplit

from gitnexus.base.errors import Invalid

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


def is_loopback_url(url: str) -> bool:
    """Return True if a URL points to this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def check_model_address(url: str, model: str, where: str) -> None:
    """Refuse an address to which no prompt may be sent, and a name that no model has. Raises: Invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise Invalid(f"{where}: url: {exc}") from exc
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isprintable():
        raise Invalid(f"{where}: url should begin with http:// or https://, and name a host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment or " " in url:
        raise Invalid(
            f"{where}: url should hold no name, password, ?, # or blank", hint="keyEnv names the variable of a key"
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise Invalid(
            f"{where}: without https only a server on this machine is asked",
            hint="prompts would be sent unencrypted",
        )
    if not 0 < len(model) <= 200 or not model.isprintable():
        raise Invalid(f"{where}: model should name a model")


def check_key_variable(name: str, where: str) -> None:
    """Refuse what is not the name of a variable; empty is none. Raises: Invalid."""
    if name and not _VARIABLE.fullmatch(name):
        raise Invalid(
            f"{where}: keyEnv should be the name of a variable, as in OPENAI_API_KEY",
            hint="the key itself is never stored in a file",
        )
