"""`git nexus rule list`: list the rules by tag."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.memory.rules import rules_by_tag
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@click.option("--tag", metavar="TAG", help="Only the rules of this tag.")
@with_nexus
def list_rules(nexus: "Nexus", tag: str | None) -> None:
    """List the rules by tag."""
    found = {name: rules for name, rules in rules_by_tag(nexus.state.latest()).items() if tag in (None, name)}
    blocks = [
        f"{name}\n" + "\n".join(f"  - {one_line(words, 160)}" for words in rules) for name, rules in found.items()
    ]
    print_answer({"rules": found}, "\n".join(blocks) or "No rules yet.\nNext: git nexus rule add TEXT", nexus.described)
