"""Masks secrets in the texts of a definition before it is stored; refuses a command that contains one."""

from typing import TYPE_CHECKING

from gitnexus.base.errors import Invalid
from gitnexus.redaction.stored import holds_secret, redact_value

if TYPE_CHECKING:
    from gitnexus.workflow.definition import WorkflowDefinition
    from gitnexus.workflow.run_definition import RunDefinition


def storable_definition(definition: "RunDefinition | WorkflowDefinition") -> "RunDefinition | WorkflowDefinition":
    """Return a definition with masked secrets in its prompts. Raises: Invalid for a command with a secret.

    The definition is hashed, stored with the run's log and pushed.
    """
    plain = definition.plain()
    for node in plain.get("nodes", ()):
        if holds_secret(node.get("argv") or ()):
            raise Invalid(
                "a word of the command looks like a secret, and would be stored in the run's log",
                hint="have the program read it from a file or a variable of its own",
            )
        if holds_secret([node.get("address") or ""]):
            raise Invalid("the model's address holds a password, and would be stored in the run's log")
    hidden = redact_value(plain)
    return definition if hidden == plain else type(definition).from_value(hidden, "the definition")
