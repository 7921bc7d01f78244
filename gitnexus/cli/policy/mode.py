"""`git nexus policy mode`: show the mode, or set it in the project's policy (or with --user in yours)."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.cli.policy.options import MODES, USER_OPTION
from gitnexus.cli.policy.output import format_mode
from gitnexus.cli.policy.signing import offer_to_sign
from gitnexus.policy.in_force import read_policy_in_force, set_mode
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("mode", cls=NexusCommand)
@click.argument("mode", type=MODES, required=False)
@USER_OPTION
@with_nexus
def show_or_set_mode(nexus: "Nexus", mode: Any, user: bool) -> None:
    """Show the mode, or set it in the project's policy (or with --user in yours)."""
    layer: Any = "user" if user else "project"
    if mode is not None:
        set_mode(nexus.state, layer, mode)
        offer_to_sign(nexus, layer)
    here = read_policy_in_force(nexus.state)
    print_answer(
        {"mode": here.compiled.mode, "user": here.user.mode, "project": here.project.mode, "trusted": here.trusted},
        f"The mode in force is {format_mode(here.compiled.mode)}.",
        nexus.described,
    )
