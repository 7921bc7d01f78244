"""The rule set: families of tables, the specific before the general, for the first that matches names the secret."""

from gitnexus.redaction.rule import Rule
from gitnexus.redaction.rules import (
    ai,
    cloud,
    code,
    data,
    generic,
    identity,
    messaging,
    observability,
    payment,
    services,
)

FAMILIES: dict[str, tuple[Rule, ...]] = {
    "cloud": cloud.RULES,
    "code hosts, packages and builds": code.RULES,
    "artificial intelligence": ai.RULES,
    "payment and trade": payment.RULES,
    "messages and social networks": messaging.RULES,
    "databases and search": data.RULES,
    "watching and measuring": observability.RULES,
    "identity and secrets": identity.RULES,
    "other services": services.RULES,
    "any": generic.RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for family in FAMILIES.values() for rule in family)

__all__ = ["FAMILIES", "RULES", "Rule"]
