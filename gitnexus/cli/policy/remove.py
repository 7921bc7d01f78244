"""`git nexus policy remove`: remove a rule by the name or number that `policy show` gives it."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.policy.output import rule_as_json
from gitnexus.cli.policy.signing import offer_to_sign
from gitnexus.policy.in_force import remove_rule
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("remove", cls=NexusCommand)
@click.argument("rule_id", metavar="RULE")
@with_nexus
def remove_policy_rule(nexus: "Nexus", rule_id: str) -> None:
    """Remove a rule by the name or number that `policy show` gives it."""
    rule = remove_rule(nexus.state, rule_id)
    offer_to_sign(nexus, rule.layer)
    print_answer({"rule": rule_as_json(rule)}, f"Removed {rule.id}: {one_line(rule.shown)}", nexus.described)
