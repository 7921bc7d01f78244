"""`git nexus project show`: show one project; needs read permission on it."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.project.output import format_health, format_permission
from gitnexus.projects.overview import show_project
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("show", cls=NexusCommand)
@click.argument("name")
@with_standpoint
def show_registered_project(standpoint: "Standpoint", name: str) -> None:
    """Show one project; needs read permission on it."""
    found = show_project(standpoint, name)
    rows = [
        ["name", found.name + ("" if found.registered else " (not registered)")],
        ["aliases", ", ".join(found.aliases) or "none"],
        ["path", one_line(found.path)],
        ["hash", found.hash],
        ["health", format_health(found)],
        ["permission", format_permission(found)],
        ["last used", found.last_access or "not known"],
    ]
    described = {"name": found.name, "hash": found.hash, "path": found.path}
    print_answer({"project": found.plain()}, format_columns(rows, indent=""), lambda: described)
