"""`git nexus agenda patch`: show what a run changes in the agenda: a link to it, ticked steps, a completed phase."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import make_visible
from gitnexus.cli.agenda.output import format_written_paths
from gitnexus.runs.agenda import agenda_patches, diff_of_edit, load_doc_graph, write_edits
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("patch", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.option("--phase", "name", metavar="PHASE", help="The phase it worked on. Default: the active one.")
@click.option("--step", "steps", multiple=True, metavar="STEP", help="A step that it did.")
@click.option("--done", is_flag=True, help="Mark the phase as done.")
@click.option("--write", is_flag=True, help="Write it into the checkout.")
@with_nexus
def show_agenda_patch(
    nexus: "Nexus", run_id: str, name: str | None, steps: tuple[str, ...], done: bool, write: bool
) -> None:
    """Show what a run changes in the agenda: a link to it, ticked steps, a completed phase.

    Without --write nothing is changed.
    """
    graph = load_doc_graph(nexus.state)
    found = agenda_patches(nexus.state, graph, run_id, graph.phase(name) if name else None, steps, finish=done)
    paths = write_edits(graph, [one.edit for one in found]) if write else []
    text = "".join(diff_of_edit(one.edit) for one in found)
    print_answer(
        {"actions": [one.action.plain() for one in found], "changed": paths},
        format_written_paths(paths) if write else make_visible(text).rstrip("\n") or "Nothing would change.",
        nexus.described,
    )
