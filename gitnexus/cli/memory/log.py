"""`git nexus memory log`: show the history of a note: created, changed, deleted, restored."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.memory.note_history import changes_of_note
from gitnexus.memory.view import change_as_json
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("log", cls=NexusCommand)
@click.argument("name")
@with_nexus
def show_note_history(nexus: "Nexus", name: str) -> None:
    """Show the history of a note: created, changed, deleted, restored."""
    steps = [change_as_json(step) for step in changes_of_note(nexus.state, nexus.state.latest(), name)]
    rows = [
        [row["commit"][:9], row["at"][:10], row["what"], one_line(row["author"], 24), one_line(row["why"], 120)]
        for row in steps
    ]
    print_answer({"name": name, "steps": steps}, format_columns(rows, indent=""), nexus.described)
