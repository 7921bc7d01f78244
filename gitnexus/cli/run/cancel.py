"""`git nexus cancel`: stop a run."""

from typing import TYPE_CHECKING

import click

from gitnexus.runs.drive import cancel_run
from gitnexus.runs.open_run import open_run
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, with_nexus
from gitnexus.ui.runs import format_run_summary, run_as_json

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("cancel", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@with_nexus
def end_run(nexus: "Nexus", run_id: str, reason: str) -> None:
    """Stop a run. Its branch and worktree stay; git nexus clean removes them."""
    run = open_run(nexus.state, run_id)
    view = cancel_run(run, reason)
    print_answer(run_as_json(run, view), lambda: format_run_summary(run, view), nexus.described)
