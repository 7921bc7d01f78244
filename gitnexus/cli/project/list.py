"""`git nexus project list`: list every project, how it is, and what the current one may do to it."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.project.output import format_health, format_permission
from gitnexus.projects.overview import ProjectOverview, list_project_views
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, print_note
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("list", cls=NexusCommand)
@with_standpoint
def list_projects(standpoint: "Standpoint") -> None:
    """List every project with its health and what the current one may do to it."""
    found = list_project_views(standpoint)
    broken = standpoint.broken_permissions()
    if broken:
        print_note(f"every access to another project is denied: {broken}")
    rows = [
        [_current_mark(one), one.name, format_health(one), format_permission(one), one_line(one.path)] for one in found
    ]
    print_answer(
        {"projects": [one.plain() for one in found]},
        format_columns(rows, indent="")
        if rows
        else "No projects yet.\nNext: git nexus init, or git nexus register PATH",
        standpoint.described,
    )


def _current_mark(one: "ProjectOverview") -> str:
    return "*" if one.current else " "
