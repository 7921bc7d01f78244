"""`git nexus agenda phase start`: make a phase the active one."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.agenda.output import format_written_paths
from gitnexus.docgraph.phases import edits_to_start_phase
from gitnexus.runs.agenda import load_doc_graph, write_edits
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("start", cls=NexusCommand)
@click.argument("name", metavar="PHASE")
@click.option("--switch", is_flag=True, help="Set the active phase back to planned.")
@with_nexus
def start_phase(nexus: "Nexus", name: str, switch: bool) -> None:
    """Make a phase the active one. It must not depend on an unfinished one."""
    graph = load_doc_graph(nexus.state)
    paths = write_edits(graph, edits_to_start_phase(graph, graph.phase(name), switch=switch))
    print_answer({"changed": paths}, format_written_paths(paths), nexus.described)
