"""`git nexus approver list`: list the approvers, and whether this machine trusts them."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.approver.output import format_listing, listing_as_json
from gitnexus.policy.approver_changes import list_approvers
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@with_nexus
def list_approver_keys(nexus: "Nexus") -> None:
    """List the approvers, and whether this machine trusts them."""
    found = list_approvers(nexus.state)
    print_answer(listing_as_json(found), format_listing(found), nexus.described)
