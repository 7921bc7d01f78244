"""`git nexus model remove`: forget a model."""

from typing import Any

import click

from gitnexus.cli.model.in_force import ModelsInForce, with_models
from gitnexus.prompts.models import remove_model
from gitnexus.state.settings import write_user_settings
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer


@click.command("remove", cls=NexusCommand)
@click.argument("name")
@with_models
def remove_model_command(models: ModelsInForce, name: str) -> None:
    """Forget a model. Roles that used it work by rules again; its key stays where it is."""
    freed: list[str] = []

    def change(settings: dict[str, Any]) -> dict[str, Any]:
        after, freed[:] = remove_model(settings, name)
        return after

    write_user_settings(change)
    told = f"; rules do the work of {', '.join(freed)} again" if freed else ""
    print_answer({"model": name, "roles": freed}, f"{name} is removed{told}", models.described)
