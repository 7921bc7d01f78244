"""`git nexus orphans`: show dependencies that lead nowhere."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.graph.output import progress_reporter
from gitnexus.projects.graph_refresh import with_network
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("orphans", cls=NexusCommand)
@with_standpoint
def show_orphans(standpoint: "Standpoint") -> None:
    """Show dependencies that lead nowhere."""
    found = with_network(standpoint, lambda network: network.orphans, progress_reporter())
    rows = [[one["from"], "→", one_line(one["to"], 60), one_line(one["reason"], 80)] for one in found]
    print_answer(
        {"orphans": found, "total": len(found)},
        format_columns(rows, indent="") or "Every dependency leads somewhere.",
        standpoint.described,
    )
