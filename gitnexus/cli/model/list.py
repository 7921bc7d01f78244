"""`git nexus model list`: list the models, and which roles use each."""

import click

from gitnexus.base.text import one_line
from gitnexus.cli.model.in_force import ModelsInForce, with_models
from gitnexus.cli.model.output import format_key_source, roles_using
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer


@click.command("list", cls=NexusCommand)
@with_models
def list_models(models: ModelsInForce) -> None:
    """List the models, and which roles use each."""
    settings = models.read()
    rows = [
        [
            name,
            one_line(one.model, 60),
            one_line(one.url, 80),
            format_key_source(one),
            ", ".join(roles_using(settings, name)) or "no role",
        ]
        for name, one in settings.models.items()
    ]
    payload = [
        {
            "name": name,
            "provider": one.provider,
            "interface": one.interface,
            "url": one.url,
            "model": one.model,
            "roles": roles_using(settings, name),
        }
        for name, one in settings.models.items()
    ]
    text = format_columns(rows, indent="") if rows else "No model is set up.\nNext: git nexus model add"
    print_answer({"models": payload}, text, models.described)
