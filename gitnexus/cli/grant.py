"""`git nexus grant`: allow one project to read, write or execute in another."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.permission_levels import PERMISSION_LEVELS, permission_change_as_json
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.levels import Level
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("grant", cls=NexusCommand)
@click.argument("caller", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--permission", required=True, type=PERMISSION_LEVELS, help="What FROM may do to TO; each implies those before it."
)
@click.option("--reason", metavar="TEXT", default="", help="Why.")
@with_standpoint
def grant_project_permission(standpoint: "Standpoint", caller: str, target: str, permission: str, reason: str) -> None:
    """Allow one project to read, write or execute in another.

    FROM and TO are names, aliases, 4 to 12 digits of a hash, or . for the current project. It says nothing about the
    other direction. What was granted before between the two is replaced; none takes away even reading.
    """
    done = grant_permission(
        standpoint.home,
        standpoint.find_registered(caller),
        standpoint.find_registered(target),
        Level(permission),
        reason,
    )
    print_answer(
        permission_change_as_json(done),
        f"{done.caller.name} now has {permission} permission on {done.target.name} (before: {done.before.value}).",
        standpoint.described,
    )
