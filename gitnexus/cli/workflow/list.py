"""`git nexus workflow list`: list the workflows that a prompt can begin with, as /NAME."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.workflow.output import wrong_macros_as_json
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, print_note, with_nexus
from gitnexus.workflow.commands import read_custom_macros
from gitnexus.workflow.macros import MACROS

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@with_nexus
def list_workflows(nexus: "Nexus") -> None:
    """List the workflows that a prompt can begin with, as /NAME."""
    own, wrong = read_custom_macros(nexus.state.latest())
    rows = [{"name": one.name, "about": one.about, "builtIn": True} for one in MACROS.values()]
    rows += [{"name": one.name, "about": one.about, "builtIn": False} for one in own.values()]
    for path, why in wrong.items():
        print_note(f".nexus/{path} is not a workflow: {why}")
    text = format_columns([[str(row["name"]), one_line(str(row["about"]), 100)] for row in rows], indent="")
    print_answer({"workflows": rows, "wrong": wrong_macros_as_json(wrong)}, text, nexus.described)
