"""`git nexus memory search`: find notes, rules, context and closed cycles by WORDS, best first."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.base.text import one_line
from gitnexus.memory.search import search_texts
from gitnexus.memory.search_sources import searchable_texts
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("search", cls=NexusCommand)
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many at most.")
@with_nexus
def search_memory(nexus: "Nexus", words: tuple[str, ...], limit: int) -> None:
    """Find notes, rules, context and closed cycles by WORDS, best first; this does not count as reading them."""
    notes = open_notes(nexus.state)
    hits = search_texts(" ".join(words), searchable_texts(nexus.state.latest(), notes.closed()), limit)
    rows = [f"{h.text.kind}  {one_line(h.text.name, 60)}\n    {one_line(h.excerpt, 110)}" for h in hits]
    found = [{"kind": h.text.kind, "name": h.text.name, "score": h.score, "excerpt": h.excerpt} for h in hits]
    print_answer(
        {"results": found, "total": len(found)}, "\n".join(rows) or "Nothing contains these words.", nexus.described
    )
