"""`git nexus rule add`: add a rule."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.text import one_line
from gitnexus.memory.rules import add_rule
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer_as_stored, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("add", cls=NexusCommand)
@click.argument("text")
@click.option("--tag", metavar="TAG", help="Its topic, one word. Default: general.")
@with_nexus
def add_project_rule(nexus: "Nexus", text: str, tag: str | None) -> None:
    """Add a rule."""
    name, words = add_rule(open_notes(nexus.state), text, tag)
    payload = {"tag": name, "rule": words, "path": f"rules/{name}.md"}
    answer_as_stored(payload, f"Added to {name}: {one_line(words, 100)}", nexus.described)
