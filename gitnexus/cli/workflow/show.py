"""`git nexus workflow show`: show the nodes of a workflow, and the text of one of your own."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import make_visible, one_line
from gitnexus.runs.workflow.routing import known_for_routing
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.workflow import format_workflow_nodes
from gitnexus.workflow.commands import PLACE
from gitnexus.workflow.macros import MACROS

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@click.argument("name")
@with_nexus
def show_workflow(nexus: "Nexus", name: str) -> None:
    """Show the nodes of a workflow, and the text of one of your own."""
    known = known_for_routing(nexus.state)
    plain = name.removeprefix("/")
    definition = known.definition(plain, PLACE)
    text = known.commands[plain].text if plain in known.commands else ""
    about = known.commands[plain].about if plain in known.commands else MACROS[plain].about
    shown = "\n".join(
        filter(None, [one_line(f"{plain}: {about}", 200), format_workflow_nodes(definition), make_visible(text)])
    )
    print_answer({"name": plain, "about": about, "text": text, "workflow": definition.plain()}, shown, nexus.described)
