"""`git nexus memory list`: list the notes; this does not count as reading them."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.memory.output import NO_NOTES
from gitnexus.memory.notes import read_all_notes
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@with_nexus
def list_memory(nexus: "Nexus") -> None:
    """List the notes; this does not count as reading them."""
    found = read_all_notes(nexus.state.latest())
    rows = [[note.name, f"{note.size} B", one_line(_first_words(note.text), 70)] for note in found]
    payload = {"notes": [{"name": note.name, "path": note.path, "size": note.size} for note in found]}
    print_answer(payload, format_columns(rows, indent="") if rows else NO_NOTES, nexus.described)


def _first_words(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0].strip() if lines else ""
