"""`git nexus workflow schema`: print the JSON Schema of a workflow."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.canonical import parse_json
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.workflow.schemas import find_schema_text

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("schema", cls=NexusCommand)
@click.argument("name", default="router.workflow", metavar="[NAME]")
@with_nexus
def print_schema(nexus: "Nexus", name: str) -> None:
    """Print the JSON Schema of a workflow; or of research, plan, plan_patch, exec.result, proposed_action."""
    text = find_schema_text(name)
    print_answer(lambda: {"schema": parse_json(text.encode())}, text.rstrip("\n"), nexus.described)
