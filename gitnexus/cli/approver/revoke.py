"""`git nexus approver revoke`: revoke a key, named by its id or its name."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.approver.output import approver_as_json
from gitnexus.policy.approver_changes import revoke_approver
from gitnexus.policy.trust import list_untrusted_files
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("revoke", cls=NexusCommand)
@click.argument("key")
@click.option("--reason", metavar="TEXT", default="", help="The reason, for those who read the list later.")
@with_nexus
def revoke_approver_key(nexus: "Nexus", key: str, reason: str) -> None:
    """Revoke a key, named by its id or its name.

    Nothing that it signed counts from then on: open approvals, and files until another key signs them.
    """
    gone = revoke_approver(nexus.state, key, reason)
    waits = list_untrusted_files(nexus.state)
    next_step = f"\nNext: git nexus policy trust ({', '.join(waits)} must be signed again)" if waits else ""
    print_answer(
        {"approver": approver_as_json(gone), "untrusted": sorted(waits)},
        f"{one_line(gone.name)} is no longer an approver: {gone.key}{next_step}",
        nexus.described,
    )
