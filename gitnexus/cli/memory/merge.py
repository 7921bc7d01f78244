"""`git nexus memory merge`: merge the note OTHER into the note INTO; no text is dropped."""

import shlex
from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.text import one_line
from gitnexus.memory.merge import merge_note_into
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("merge", cls=NexusCommand)
@click.argument("into")
@click.argument("other")
@with_nexus
def merge_memory_notes(nexus: "Nexus", into: str, other: str) -> None:
    """Merge the note OTHER into the note INTO; no text is dropped."""
    before = (nexus.state.latest().commit or "")[:12]
    both = merge_note_into(open_notes(nexus.state), into, other)
    undo = " && ".join(f"git nexus memory restore {shlex.quote(name)} --from {before}" for name in (both.name, other))
    print_answer(
        {"note": {"name": both.name, "path": both.path, "size": both.size}},
        f"Merged into {both.name}.\nUndo: {one_line(undo, 400)}",
        nexus.described,
    )
