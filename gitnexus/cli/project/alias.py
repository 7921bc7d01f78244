"""`git nexus project alias`: give a project more names, or take some away."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.project.output import print_names
from gitnexus.projects.names import add_aliases, remove_aliases
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("alias", cls=NexusCommand)
@click.argument("name")
@click.argument("aliases", nargs=-1, required=True, metavar="ALIAS…")
@click.option("--remove", is_flag=True, help="Remove the aliases instead.")
@with_standpoint
def change_aliases(standpoint: "Standpoint", name: str, aliases: tuple[str, ...], remove: bool) -> None:
    """Give a project more names, or take some away."""
    change = remove_aliases if remove else add_aliases
    row = change(standpoint.home, standpoint.find_registered(name), aliases, standpoint.clock())
    print_names(row)
