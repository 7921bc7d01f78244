"""`git nexus context show`: print one file."""

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
@click.argument("name")
@with_nexus
def show_context(nexus: "Nexus", name: str) -> None:
    """Print one file."""
    text = read_rule_or_context(nexus.state.latest(), "context", name)
    print_answer({"name": name, "text": json_safe_text(text)}, make_visible(text).rstrip("\n"), nexus.described)
