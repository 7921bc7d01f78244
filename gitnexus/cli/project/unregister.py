"""`git nexus project unregister`: forget a project and every permission that names it; its files stay as they are."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.projects.register import unregister_project
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("unregister", cls=NexusCommand)
@click.argument("name")
@with_standpoint
def forget_project(standpoint: "Standpoint", name: str) -> None:
    """Forget a project and every permission that names it; its files stay as they are."""
    row = standpoint.find_registered(name)
    unregister_project(standpoint.home, row.path, standpoint.clock())
    print_answer(
        {"project": row.plain()},
        f"Unregistered {row.name}; {one_line(row.path)} is unchanged.",
        row.described,
    )
