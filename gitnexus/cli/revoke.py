"""`git nexus revoke`: go back to the default between two projects."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.permission_levels import permission_change_as_json
from gitnexus.projects.granting import revoke_permission
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("revoke", cls=NexusCommand)
@click.argument("caller", metavar="FROM")
@click.argument("target", metavar="TO")
@with_standpoint
def revoke_project_permission(standpoint: "Standpoint", caller: str, target: str) -> None:
    """Go back to the default between two projects."""
    done = revoke_permission(standpoint.home, standpoint.find_registered(caller), standpoint.find_registered(target))
    print_answer(
        permission_change_as_json(done),
        f"{done.caller.name} now has {done.after.value} permission on {done.target.name}, the default"
        f" (before: {done.before.value}).",
        standpoint.described,
    )
