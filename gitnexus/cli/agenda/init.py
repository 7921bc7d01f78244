"""`git nexus agenda init`: write a first AGENDA.md, with the phases that are there."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.agenda.output import format_written_paths
from gitnexus.docgraph.phases import edits_for_new_agenda
from gitnexus.runs.agenda import load_doc_graph, write_edits
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("init", cls=NexusCommand)
@click.option("--title", metavar="TEXT", default="", help="Its heading. Default: the project's name.")
@with_nexus
def write_first_agenda(nexus: "Nexus", title: str) -> None:
    """Write a first AGENDA.md with the phases that exist."""
    graph = load_doc_graph(nexus.state)
    paths = write_edits(graph, edits_for_new_agenda(graph, title or nexus.described()["name"]))
    print_answer(
        {"changed": paths}, f"{format_written_paths(paths)}\nNext: git nexus agenda phase add NAME", nexus.described
    )
