"""`git nexus model test`: make one small call to a model, and show what it cost."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.model.output import call_as_json, format_call, roles_using
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.prompts.models import call_model, find_model
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("test", cls=NexusCommand)
@click.argument("name")
@with_nexus
def test_model(nexus: "Nexus", name: str) -> None:
    """Make one small call to a model, and show what it cost."""
    settings = read_prompt_settings(nexus.state)
    called, roles = call_model(find_model(settings, name)), roles_using(settings, name)
    text = f"{format_call(name, called)}\nused by: {', '.join(roles) or 'no role'}"
    print_answer({"model": name, "roles": roles, "call": call_as_json(called)}, text, nexus.described)
