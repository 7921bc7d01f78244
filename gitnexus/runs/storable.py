"""A definition as it may be stored: texts without their secrets; a command that holds one is refused."""

from typing import TypeVar

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.redaction.stored import holds_secret, redact_value

R = TypeVar("R", bound=Record)


def storable(definition: R) -> R:
    """Return a definition with the secrets of its prompts hidden. Raises: Invalid for a command that holds one.

    The definition is hashed, kept in the run's log and pushed with it.
    """
    plain = definition.plain()
    for node in plain.get("nodes", ()):
        if holds_secret(node.get("argv") or ()):
            raise Invalid(
                "a word of the command looks like a secret, and would be kept in the run's log",
                hint="have the program read it from a file or a variable of its own",
            )
        if holds_secret([node.get("address") or ""]):
            raise Invalid("the model's address holds a password, and would be kept in the run's log")
    hidden = redact_value(plain)
    return definition if hidden == plain else type(definition).from_value(hidden, "the definition")
