"""`git nexus model use`: make roles ask a model."""

from typing import Any

import click

from gitnexus.cli.model.in_force import ModelsInForce, with_models
from gitnexus.prompts.models import agents_of_role, use_model
from gitnexus.prompts.settings import ROLES, ROUTER
from gitnexus.state.settings import write_user_settings
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer


@click.command("use", cls=NexusCommand)
@click.argument("name")
@click.option(
    "--for",
    "roles",
    multiple=True,
    type=click.Choice((*ROLES, ROUTER)),
    help="Which role; by default the three that work.",
)
@with_models
def use_model_command(models: ModelsInForce, name: str, roles: tuple[str, ...]) -> None:
    """Make roles ask a model. This holds in all of your projects.

    A model for the role router chooses the workflow of a prompt, where rules do it otherwise.

    In a role with a list of agents it becomes the first, and the others stay; a single agent is replaced.
    """
    chosen = list(roles or ROLES)
    said: list[str] = []

    def change(settings: dict[str, Any]) -> dict[str, Any]:
        after = use_model(settings, name, chosen)
        said[:] = [_describe_use(role, agents_of_role(settings, role), agents_of_role(after, role)) for role in chosen]
        return after

    write_user_settings(change)
    print_answer({"model": name, "roles": chosen}, f"{name} is used by: {', '.join(said)}", models.described)


def _describe_use(role: str, before: list[str], after: list[str]) -> str:
    """Return a role, with what became of the agents that were set for it."""
    if len(after) > 1:
        return f"{role} (first, then {', '.join(after[1:])})"
    gone = [agent for agent in before if agent not in (*after, "embedded")]
    return f"{role} (in the place of {', '.join(gone)})" if gone else role
