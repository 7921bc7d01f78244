"""`git nexus model test`: make one small call to a model, and show what it cost."""

import click

from gitnexus.cli.model.in_force import ModelsInForce, with_models
from gitnexus.cli.model.output import call_as_json, format_call, roles_using
from gitnexus.prompts.models import call_model, find_model
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer


@click.command("test", cls=NexusCommand)
@click.argument("name")
@with_models
def test_model(models: ModelsInForce, name: str) -> None:
    """Make one small call to a model, and show what it cost."""
    settings = models.read()
    called, roles = call_model(find_model(settings, name)), roles_using(settings, name)
    text = f"{format_call(name, called)}\nused by: {', '.join(roles) or 'no role'}"
    print_answer({"model": name, "roles": roles, "call": call_as_json(called)}, text, models.described)
