"""`git nexus agenda tick`: tick a step of a phase: core_loop#write, or its id alone in the active phase."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.agenda.output import format_written_paths
from gitnexus.docgraph.phases import edits_to_tick_step
from gitnexus.runs.agenda import load_doc_graph, only_active_phase, write_edits
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("tick", cls=NexusCommand)
@click.argument("ref", metavar="STEP")
@click.option("--undo", is_flag=True, help="Open it again.")
@with_nexus
def tick_step(nexus: "Nexus", ref: str, undo: bool) -> None:
    """Tick a step of a phase: core_loop#write, or its id alone in the active phase.

    A step is a row with a box, as in - [ ] write it {#write}; without an id its line counts, core_loop#L12.
    """
    graph = load_doc_graph(nexus.state)
    where, _, word = ref.rpartition("#")
    doc = graph.phase(where) if where else only_active_phase(graph)
    paths = write_edits(graph, edits_to_tick_step(graph, doc, word, done=not undo))
    print_answer({"changed": paths}, format_written_paths(paths), nexus.described)
