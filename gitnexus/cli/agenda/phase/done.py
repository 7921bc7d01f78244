"""`git nexus agenda phase done`: finish a phase whose steps are ticked, and tick it in AGENDA.md."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.agenda.output import format_written_paths
from gitnexus.docgraph.phases import edits_to_finish_phase
from gitnexus.runs.agenda import load_doc_graph, write_edits
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("done", cls=NexusCommand)
@click.argument("name", metavar="PHASE")
@click.option("--force", is_flag=True, help="Even if steps are open.")
@with_nexus
def finish_phase(nexus: "Nexus", name: str, force: bool) -> None:
    """Finish a phase whose steps are ticked, and tick it in AGENDA.md."""
    graph = load_doc_graph(nexus.state)
    paths = write_edits(graph, edits_to_finish_phase(graph, graph.phase(name), force=force))
    print_answer({"changed": paths}, format_written_paths(paths), nexus.described)
