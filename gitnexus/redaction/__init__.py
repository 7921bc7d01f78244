"""Finds and masks secrets in text by rule. Pure: the value of a secret is never returned or stored."""

from typing import TYPE_CHECKING

from gitnexus.redaction.scan import SecretFinding, find_secrets

if TYPE_CHECKING:
    from gitnexus.redaction.hide import Redactor, mask, redact
    from gitnexus.redaction.result import Hidden, Redacted, Reveal
    from gitnexus.redaction.values import Values

__all__ = ["Hidden", "Redacted", "Redactor", "Reveal", "SecretFinding", "Values", "find_secrets", "mask", "redact"]

_HOMES = {
    **dict.fromkeys(("Redactor", "mask", "redact"), "hide"),
    **dict.fromkeys(("Hidden", "Redacted", "Reveal"), "result"),
    "Values": "values",
}


def __getattr__(name: str) -> object:
    # Git hooks and notes only look for secrets, and wait for every import: the rest comes when it is asked for.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
