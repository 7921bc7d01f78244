"""`git nexus agenda phase list`: list the phases, in the order of the agenda."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.agenda.output import STATUS_COLOURS, phase_as_json
from gitnexus.runs.agenda import load_doc_graph
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("list", cls=NexusCommand)
@with_nexus
def list_phases(nexus: "Nexus") -> None:
    """List the phases, in the order of the agenda."""
    phases = load_doc_graph(nexus.state).phases
    rows = [
        [
            one_line(doc.id or doc.path, 60),
            click.style(doc.status or "?", fg=STATUS_COLOURS.get(doc.status)),
            f"{sum(bool(one.done) for one in doc.steps)}/{len(doc.steps)}",
            one_line(doc.title, 80),
        ]
        for doc in phases
    ]
    none = "No phases yet.\nNext: git nexus agenda phase add NAME"
    print_answer(
        {"phases": [phase_as_json(doc) for doc in phases]}, format_columns(rows, indent="") or none, nexus.described
    )
