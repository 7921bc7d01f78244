"""`git nexus rule show`: print the whole file of a tag."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import make_visible
from gitnexus.memory.notes import json_safe_text
from gitnexus.memory.rules import read_rule_or_context
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@click.argument("tag")
@with_nexus
def show_rules(nexus: "Nexus", tag: str) -> None:
    """Print the whole file of a tag."""
    text = read_rule_or_context(nexus.state.latest(), "rules", tag)
    print_answer({"tag": tag, "text": json_safe_text(text)}, make_visible(text).rstrip("\n"), nexus.described)
