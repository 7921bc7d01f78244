"""`git nexus orphans`: show dependencies that lead nowhere."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.cli.graph.output import print_left_out, progress_reporter
from gitnexus.projects.graph_json import orphans_json
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.standpoint import with_standpoint

if TYPE_CHECKING:
    from gitnexus.projects.standpoint import Standpoint


@click.command("orphans", cls=NexusCommand)
@with_standpoint
def show_orphans(standpoint: "Standpoint") -> None:
    """Show dependencies that lead nowhere."""
    told = orphans_json(standpoint, progress_reporter())
    print_left_out(told)
    rows = [[one["from"], "→", one_line(one["to"], 60), one_line(one["reason"], 80)] for one in told["orphans"]]
    print_answer(
        told, format_columns(rows, indent="") or "Every dependency refers to an existing task.", standpoint.described
    )
