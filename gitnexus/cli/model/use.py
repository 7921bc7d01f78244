"""`git nexus model use`: make roles ask a model."""

from typing import TYPE_CHECKING

import click

from gitnexus.prompts.models import use_model
from gitnexus.prompts.settings import ROLES
from gitnexus.state.settings import write_user_settings
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("use", cls=NexusCommand)
@click.argument("name")
@click.option("--for", "roles", multiple=True, type=click.Choice(ROLES), help="Which role; all three by default.")
@with_nexus
def use_model_command(nexus: "Nexus", name: str, roles: tuple[str, ...]) -> None:
    """Make roles ask a model. This holds in all of your projects."""
    chosen = list(roles or ROLES)
    write_user_settings(lambda settings: use_model(settings, name, chosen))
    print_answer({"model": name, "roles": chosen}, f"{name} is used by: {', '.join(chosen)}", nexus.described)
