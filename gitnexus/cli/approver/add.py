"""`git nexus approver add`: add an approver key: a .pub file, or the public key itself."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.approver.output import approver_as_json
from gitnexus.policy.approver_changes import add_approver, read_candidate_key
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, print_note, start_folder, with_nexus
from gitnexus.ui.trust import require_confirmation

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("add", cls=NexusCommand)
@click.argument("key")
@click.option("--name", metavar="NAME", help="Whose key it is. Default: the comment in it.")
@click.option("--confirm", metavar="ID", help="The id of the key, if there is no terminal to confirm.")
@with_nexus
def add_approver_key(nexus: "Nexus", key: str, name: str | None, confirm: str | None) -> None:
    """Add an approver key: a .pub file, or the public key itself.

    From then on it approves here, and can add others.
    """
    new = read_candidate_key(start_folder(current_invocation(click.get_current_context())), key, name)
    print_note(f"{new.name}: {new.key}")
    require_confirmation("Let this key approve here?", [new.key], [confirm] if confirm else [])
    made = add_approver(nexus.state, new)
    print_answer(
        {"approver": approver_as_json(made)}, f"{one_line(made.name)} is an approver now: {made.key}", nexus.described
    )
