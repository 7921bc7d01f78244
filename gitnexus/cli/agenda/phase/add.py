"""`git nexus agenda phase add`: plan a phase: docs/phases/NAME.md with empty sections, and a row in AGENDA.md."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.agenda.output import format_written_paths
from gitnexus.docgraph.phases import edits_for_new_phase
from gitnexus.runs.agenda import load_doc_graph, write_edits
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("add", cls=NexusCommand)
@click.argument("name")
@click.option("--title", metavar="TEXT", default="", help="Its heading. Default: the name in words.")
@with_nexus
def add_phase(nexus: "Nexus", name: str, title: str) -> None:
    """Plan a phase: docs/phases/NAME.md with empty sections, and a row in AGENDA.md."""
    graph = load_doc_graph(nexus.state)
    paths = write_edits(graph, edits_for_new_phase(graph, name, title))
    print_answer(
        {"changed": paths}, f"{format_written_paths(paths)}\nNext: write its GOAL and DELIVERABLES", nexus.described
    )
