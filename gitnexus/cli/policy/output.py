"""Formats rules as JSON, and the mode in its colour."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gitnexus.policy.rules import PolicyRule


def rule_as_json(rule: "PolicyRule") -> dict[str, Any]:
    """Return the fields of a rule that are set, as JSON."""
    return {key: value for key, value in rule.plain().items() if value not in ("", [])}


def format_mode(mode: str) -> str:
    """Return the mode; bypass in red."""
    return click.style(mode, fg="red", bold=True) if mode == "bypass" else mode
