"""`git nexus policy edit`: open the policy in your editor; an invalid one is refused."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.cli.policy.options import USER_OPTION
from gitnexus.cli.policy.signing import offer_to_sign
from gitnexus.policy.in_force import read_policy_text, replace_text
from gitnexus.policy.rules import STARTER
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("edit", cls=NexusCommand)
@USER_OPTION
@with_nexus
def edit_policy(nexus: "Nexus", user: bool) -> None:
    """Open the policy in your editor; an invalid one is refused."""
    layer: Any = "user" if user else "project"
    before = read_policy_text(nexus.state, layer)
    typed = click.edit((before or STARTER).decode("utf-8"), extension=".md")
    changed = typed is not None and typed.encode() != before
    if changed:
        replace_text(nexus.state, layer, before, str(typed).encode())
        offer_to_sign(nexus, layer)
    print_answer({"changed": changed, "layer": layer}, "Saved." if changed else "Nothing changed.", nexus.described)
