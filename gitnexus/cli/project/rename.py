"""`git nexus project rename`: give a project another name; the old one stays as an alias."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.project.output import print_names
from gitnexus.projects.names import rename_project
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("rename", cls=NexusCommand)
@click.argument("name")
@click.argument("new")
@with_standpoint
def rename_registered_project(standpoint: "Standpoint", name: str, new: str) -> None:
    """Give a project another name; the old one stays as an alias."""
    row = rename_project(standpoint.home, standpoint.find_registered(name), new, standpoint.clock())
    print_names(row)
