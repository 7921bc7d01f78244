"""The complete rule set in order, specific rules before general ones: the first match names the secret."""

from gitnexus.redaction.rule import SecretRule
from gitnexus.redaction.rules import (
    ai,
    cloud,
    code,
    data,
    generic,
    identity,
    messaging,
    named,
    observability,
    payment,
    services,
)

FAMILIES: dict[str, tuple[SecretRule, ...]] = {
    "cloud": cloud.RULES,
    "code hosts, packages and builds": code.RULES,
    "artificial intelligence": ai.RULES,
    "payment and trade": payment.RULES,
    "messages and social networks": messaging.RULES,
    "databases and search": data.RULES,
    "watching and measuring": observability.RULES,
    "identity and secrets": identity.RULES,
    "other services": services.RULES,
    "any": (*generic.RULES, *named.RULES),
}
RULES: tuple[SecretRule, ...] = tuple(rule for family in FAMILIES.values() for rule in family)

__all__ = ["FAMILIES", "RULES", "SecretRule"]
