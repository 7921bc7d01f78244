"""`git nexus memory show`: read one note; the read is counted."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.text import make_visible
from gitnexus.memory.access import count_note_read
from gitnexus.memory.notes import json_safe_text, read_note
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("show", cls=NexusCommand)
@click.argument("name")
@with_nexus
def show_memory_note(nexus: "Nexus", name: str) -> None:
    """Read one note; the read is counted."""
    notes = open_notes(nexus.state)
    found = read_note(notes.latest(), name)
    missed = count_note_read(notes, found.name)
    if missed:
        print_note(f"the read was not counted: {missed}")
    payload = {"note": {"name": found.name, "path": found.path, "size": found.size, "text": json_safe_text(found.text)}}
    print_answer(payload, make_visible(found.text).rstrip("\n"), nexus.described)
