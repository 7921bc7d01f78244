"""`git nexus approver trust`: trust the approvers of this project on this machine."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import VerificationFailed
from gitnexus.cli.approver.output import format_listing, listing_as_json
from gitnexus.policy.approver_changes import find_doubt, list_approvers, trust_approvers
from gitnexus.policy.seen import format_root
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.trust import require_confirmation

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("trust", cls=NexusCommand)
@click.option(
    "--confirm", metavar="ID", help="What approver list prints to compare, if there is no terminal to confirm."
)
@with_nexus
def trust_project_approvers(nexus: "Nexus", confirm: str | None) -> None:
    """Trust the approvers of this project on this machine.

    Use it in a clone of somebody else's project, or after this machine refused a change of the list. Compare the ids
    with those that the approvers give you.
    """
    before = list_approvers(nexus.state)
    if before.consent:
        print_answer(listing_as_json(before), "These approvers are already trusted on this machine.", nexus.described)
        return
    click.echo(format_listing(before), err=True)
    doubt = find_doubt(nexus.state)
    if doubt:
        print_note(f"look twice: {doubt}")
    root, pin = before.approvers.root.key, format_root(before.approvers)
    if doubt and confirm == root:
        raise VerificationFailed(
            "a key alone does not show how many changes the list of approvers had, and this state may be an older one",
            hint=f"compare the string that git nexus approver list prints where it is known; here it is {pin}",
        )
    named = root if confirm in (root, pin) else confirm
    require_confirmation("Trust what these keys sign on this machine?", [root], [named] if named else [])
    print_answer(
        listing_as_json(trust_approvers(nexus.state, root)),
        "These approvers are now trusted on this machine.",
        nexus.described,
    )
