"""`git nexus approver machine`: show the key of this machine, or vouch for the key of another."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.policy.keys import key_id, normalize_public_key
from gitnexus.policy.machine import ensure_machine_key
from gitnexus.runs.log_signatures import vouch_for
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.trust import require_confirmation

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("machine", cls=NexusCommand)
@click.argument("key", required=False)
@click.option("--name", metavar="NAME", default="", help="Whose machine it is.")
@click.option("--confirm", metavar="ID", help="The id of the machine's key, if there is no terminal to confirm.")
@with_nexus
def vouch_for_machine(nexus: "Nexus", key: str | None, name: str, confirm: str | None) -> None:
    """Show the key of this machine, or vouch for the key of another, which then signs logs for its owner.

    A machine with an approver's key needs nobody to vouch for it. For one without, such as a worker, vouch for the KEY
    that this command prints there. The key approves nothing.
    """
    if key is None:
        own = ensure_machine_key()
        print_answer({"machine": {"id": own.id, "public": own.public}}, f"{own.public}\n{own.id}", nexus.described)
        return
    if not name:
        raise click.UsageError("Say whose machine it is: --name NAME.")
    require_confirmation(
        f"Vouch that this is a machine of {one_line(name, 80)}?",
        [key_id(normalize_public_key(key))],
        [confirm] if confirm else [],
    )
    made = vouch_for(nexus.state, key, name)
    print_answer(
        {"machine": made.plain()},
        f"Signatures by {made.id} now count as those of {one_line(made.name, 80)}.",
        nexus.described,
    )
