"""`git nexus memory stats`: show age, size and use of every note, and what could be forgotten and why."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.text import one_line
from gitnexus.cli.memory.output import NO_NOTES
from gitnexus.memory.gc import assess_all_notes
from gitnexus.memory.view import assessment_as_json
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.memory.signals import NoteAssessment


@click.command("stats", cls=NexusCommand)
@with_nexus
def show_memory_stats(nexus: "Nexus") -> None:
    """Show age, size and use of every note, and what could be forgotten and why."""
    found = assess_all_notes(open_notes(nexus.state))
    rows = [["NOTE", "SIZE", "UNUSED", "READ", "LAST BY", ""]] if found else []
    rows += [_format_assessment(row) for row in found]
    could = sum(row.is_candidate for row in found)
    tail = f"\n{count_of(could, 'note')} could be forgotten: git nexus memory gc" if could else ""
    payload = {"notes": [assessment_as_json(row) for row in found], "candidates": could}
    print_answer(payload, format_columns(rows, indent="") + tail if rows else NO_NOTES, nexus.described)


def _format_assessment(row: "NoteAssessment") -> list[str]:
    mark = click.style(row.why, fg="yellow") if row.is_candidate else ""
    reader = one_line(row.use.reader, 24) if row.use.reader else "-"
    return [row.note.name, f"{row.note.size} B", f"{row.days} d", f"{row.use.count}x", reader, mark]
